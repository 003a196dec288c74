// How jemalloc caches for each thread what the program frees. A loop with hundreds of requests
// under way frees as many coroutine frames and 16 KiB buffers in one round and takes them again in
// the next. By default 20 of such a size are cached, and after every 64 KiB some of them are given
// back, which cost an eighth of the program's own time for a request.
//
// A thread caches no more than it had in use at one time, and in each of about 40 sizes at most 512
// pieces up to 14 KiB and 256 above. MALLOC_CONF in the environment overrides it.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "tcache_nslots_small_min:256,tcache_nslots_small_max:512,lg_tcache_nslots_mul:4,"
    "tcache_nslots_large:256,tcache_gc_incr_bytes:16777216";
