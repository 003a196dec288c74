#include "verify/profile.h"

#include <charconv>

namespace oncekey::verify {

std::optional<Expectations> expectations_of(std::string_view profile) {
  Expectations expected;
  if (profile == "ietf") return expected;
  if (profile != "stripe") return std::nullopt;
  expected.profile = profile;
  expected.mismatch = 400;
  expected.on_5xx = On5xx::replay;
  expected.errors = ErrorForm::stripe;
  return expected;
}

std::string change_status(Expectations& expected, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  int* status = nullptr;
  if (name == "missing") status = &expected.missing;
  if (name == "invalid") status = &expected.invalid;
  if (name == "mismatch") status = &expected.mismatch;
  if (name == "in_flight") status = &expected.in_flight;
  if (status == nullptr || equals == std::string_view::npos) {
    return "--status takes missing, invalid, mismatch or in_flight, such as mismatch=409";
  }
  const std::string_view digits = assignment.substr(equals + 1);
  int value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || value < 400 ||
      value > 499) {
    return "--status " + std::string(name) + ": a status is a number from 400 to 499";
  }
  *status = value;
  return "";
}

std::optional<On5xx> on_5xx_of(std::string_view name) {
  if (name == "retry") return On5xx::retry;
  if (name == "replay") return On5xx::replay;
  if (name == "unknown") return On5xx::unknown;
  return std::nullopt;
}

}  // namespace oncekey::verify
