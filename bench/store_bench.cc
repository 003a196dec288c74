// Measures the embedded store by itself: reserve + complete in batches, disk and memory for each
// key, and whether a reserve slows down as keys pile up.
//
//   store_bench [--path DIR] [--keys N] [--requests N] [--json FILE]
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/open.h"

namespace oncekey::store {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string path = "./store-bench-data";
  std::size_t keys = 200'000;
  std::size_t requests = 40'000;  // for each batch size
  std::string json;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// What the files take on the disk, not what they claim to hold.
std::uintmax_t disk_bytes(const std::string& path) {
  const std::string command = "du -s -B1 '" + path + "'";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  unsigned long long bytes = 0;
  if (pipe == nullptr || std::fscanf(pipe.get(), "%llu", &bytes) != 1) return 0;
  return bytes;
}

// Everything in the folder counts: tables, logs and the spare log.
constexpr std::size_t disk_keys = 2'000'000;
double disk_bytes_per_key(const std::string& path, std::size_t keys) {
  return static_cast<double>(disk_bytes(path)) / static_cast<double>(keys);
}

TimestampMs wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Load {
 public:
  explicit Load(Engine& engine) : engine_(engine) {}

  // One batch of reserves, then one of settles: what a gateway does under as many connections.
  // Returns the time of the reserves in microseconds.
  double run(std::size_t batch) {
    reserves_.clear();
    settles_.clear();
    for (std::size_t i = 0; i < batch; ++i) reserves_.emplace_back(reserve());
    const auto start = Clock::now();
    apply(reserves_);
    const double took_us = seconds_since(start) * 1e6;
    for (Operation& operation : reserves_) {
      Reserve& done = std::get<Reserve>(operation);
      const Execute* held = std::get_if<Execute>(&done.outcome);
      if (held == nullptr) fail("a fresh key was not executed");
      settles_.emplace_back(settle(done.id, held->fence));
    }
    apply(settles_);
    for (Operation& operation : settles_) {
      if (!std::holds_alternative<Settled>(std::get<Settle>(operation).outcome)) {
        fail("a settle failed");
      }
    }
    return took_us;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "store_bench: %s\n", what);
    std::exit(1);
  }

  std::string uuid() {
    char text[37];
    const auto a = random_();
    const auto b = random_();
    std::snprintf(
        text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a & 0xffffffff),
        static_cast<unsigned>(a >> 32 & 0xffff), static_cast<unsigned>(a >> 48 & 0xfff),
        static_cast<unsigned>(b & 0x3fff) | 0x8000u, static_cast<unsigned long long>(b >> 16));
    return text;
  }

  Reserve reserve() {
    Reserve op;
    op.id = {"default", uuid()};
    op.fingerprint.version = 1;
    for (std::uint8_t& byte : op.fingerprint.digest) byte = static_cast<std::uint8_t>(random_());
    op.lease_ms = 60'000;
    op.retention_ms = 24LL * 3600 * 1000;
    op.method = "POST";
    op.path = "/payments";
    op.owner = "bench-1a2b3c4d";
    return op;
  }

  Settle settle(const RecordId& id, Fence fence) {
    auto response = std::make_shared<StoredResponse>();
    response->status = 201;
    response->headers = {{"content-type", "application/json"}};
    response->body = "{\"id\":\"pay_00000000\",\"status\":\"created\",\"amount\":100}";  // 52 bytes
    const std::string number = std::to_string(10'000'000 + random_() % 90'000'000);
    response->body.replace(11, 8, number);
    Settle op;
    op.id = id;
    op.fence = fence;
    op.verdict = SettleCompleted{std::move(response)};
    return op;
  }

  void apply(std::vector<Operation>& operations) {
    pointers_.clear();
    for (Operation& operation : operations) pointers_.push_back(&operation);
    engine_.apply(pointers_, wall_clock());
  }

  Engine& engine_;
  std::mt19937_64 random_{42};
  std::vector<Operation> reserves_;
  std::vector<Operation> settles_;
  std::vector<Operation*> pointers_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Fresh keys one at a time, each with its sync; the sync's own time is in it.
double reserve_p50_us(Load& load) {
  std::vector<double> times;
  for (int i = 0; i < 2'000; ++i) times.push_back(load.run(1));
  return median(std::move(times));
}

int run(const Settings& settings) {
  std::filesystem::remove_all(settings.path);
  auto opened = open_store(*parse_store_url("rocksdb:" + settings.path), {.clock = wall_clock});
  if (!opened) {
    std::fprintf(stderr, "store_bench: %s\n", opened.error().c_str());
    return 1;
  }
  Engine& engine = *opened->lanes[0];
  Load load(engine);
  std::string json = "{";
  std::size_t keys = 0;

  std::printf("batch  requests/s  cpu us/request  syncs  requests/sync\n");
  for (const std::size_t batch : {1u, 16u, 64u, 128u}) {
    const std::size_t requests = batch == 1 ? settings.requests / 20 : settings.requests;
    const std::uint64_t syncs = engine.stats().syncs;
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    std::size_t done = 0;
    for (; done < requests; done += batch) load.run(batch);
    keys += done;
    const double rate = static_cast<double>(done) / seconds_since(start);
    const double cpu_us = (cpu_seconds() - cpu) * 1e6 / static_cast<double>(done);
    const std::uint64_t synced = engine.stats().syncs - syncs;
    std::printf("%5zu  %10.0f  %14.1f  %5llu  %13.1f\n", batch, rate, cpu_us,
                static_cast<unsigned long long>(synced),
                static_cast<double>(done) / static_cast<double>(synced));
    json += "\"requests_per_second_" + std::to_string(batch) + "\":" + std::to_string(rate) +
            ",\"cpu_us_" + std::to_string(batch) + "\":" + std::to_string(cpu_us) + ",";
  }

  for (; keys < 50'000; keys += 256) load.run(256);
  const double p50_few = reserve_p50_us(load);
  keys += 2'000;
  const auto start = Clock::now();
  const double cpu = cpu_seconds();
  const std::size_t before = keys;
  double bytes = 0;  // for each key, at 2 M keys or at the end
  for (; keys < settings.keys; keys += 256) {
    load.run(256);
    if (keys % disk_keys < 256) bytes = disk_bytes_per_key(settings.path, keys);
    if (keys % 500'000 < 256) {
      std::fprintf(stderr, "\r%zu of %zu keys", keys, settings.keys);
    }
  }
  std::fprintf(stderr, "\r");
  const double fill_rate = static_cast<double>(keys - before) / seconds_since(start);
  const double fill_cpu = (cpu_seconds() - cpu) * 1e6 / static_cast<double>(keys - before + 1);
  const double p50_many = reserve_p50_us(load);
  keys += 2'000;
  if (bytes == 0) bytes = disk_bytes_per_key(settings.path, keys);
  const double resident = resident_mib();

  std::printf("\nkeys %zu (filled at %.0f/s, %.1f us CPU each, batches of 256)\n", keys, fill_rate,
              fill_cpu);
  std::printf("disk per key     %8.1f B (at %zu keys)\nresident memory  %8.1f MiB\n", bytes,
              std::min(keys, disk_keys), resident);
  std::printf("reserve p50      %8.1f us at about 50 k keys, %.1f us at %zu (ratio %.2f)\n",
              p50_few, p50_many, keys, p50_many / p50_few);
  json += "\"keys\":" + std::to_string(keys) + ",\"disk_bytes_per_key\":" + std::to_string(bytes) +
          ",\"resident_mib\":" + std::to_string(resident) +
          ",\"reserve_p50_us_50k\":" + std::to_string(p50_few) +
          ",\"reserve_p50_us\":" + std::to_string(p50_many) +
          ",\"reserve_p50_ratio\":" + std::to_string(p50_many / p50_few) + "}\n";
  if (!settings.json.empty()) std::ofstream(settings.json) << json;
  opened = std::string("closed");
  std::filesystem::remove_all(settings.path);
  return 0;
}

}  // namespace
}  // namespace oncekey::store

int main(int argc, char** argv) {
  oncekey::store::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--path") settings.path = argv[i + 1];
    if (name == "--keys") settings.keys = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--requests") settings.requests = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--json") settings.json = argv[i + 1];
  }
  return oncekey::store::run(settings);
}
