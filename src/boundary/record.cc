#include "oncekey/record.h"

namespace oncekey {

std::string_view to_string(State state) {
  switch (state) {
    case State::in_progress:
      return "in_progress";
    case State::completed:
      return "completed";
    case State::failed_retryable:
      return "failed_retryable";
    case State::unknown:
      return "unknown";
    case State::expired:
      return "expired";
  }
  return "invalid";  // only a damaged record gets here
}

}  // namespace oncekey
