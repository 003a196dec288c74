#include "transaction/fence_source.h"

#include <sys/random.h>

#include "oncekey/assert.h"

namespace oncekey::transaction {

Fence FenceSource::next() {
  if (counter_ == 0 || counter_ >> counter_bits != 0) {
    constexpr int run_bits = 63 - counter_bits;
    do {
      ONCEKEY_ASSERT(::getrandom(&run_, sizeof run_, 0) == sizeof run_);
      run_ >>= 64 - run_bits;
    } while (run_ == 0);
    counter_ = 1;
  }
  return run_ << counter_bits | counter_++;
}

}  // namespace oncekey::transaction
