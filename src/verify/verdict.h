// What was found about one promise.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace oncekey::verify {

enum class Verdict { pass, fail, warning, skipped };
inline constexpr Verdict all_verdicts[] = {Verdict::pass, Verdict::fail, Verdict::warning,
                                           Verdict::skipped};
std::string_view to_string(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::skipped;
  std::string what;  // what came back, or why it was skipped
};

inline Finding pass(std::string what) {
  return {Verdict::pass, std::move(what)};
}
inline Finding fail(std::string what) {
  return {Verdict::fail, std::move(what)};
}
inline Finding warn(std::string what) {
  return {Verdict::warning, std::move(what)};
}
inline Finding skip(std::string why) {
  return {Verdict::skipped, std::move(why)};
}

}  // namespace oncekey::verify
