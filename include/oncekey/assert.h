// Assertions that stay on in release builds: a wrong state in this program charges a customer
// twice, so it stops instead of going on.
#pragma once

#include <cstdio>
#include <cstdlib>

#define ONCEKEY_ASSERT(condition)                                                            \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
