#include "oncekey/crash_point.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace oncekey {

namespace {

constexpr CrashPointName names[] = {
    {CrashPoint::worker_claimed, "worker-claimed"},
    {CrashPoint::worker_before_delivery, "worker-before-delivery"},
    {CrashPoint::worker_delivered, "worker-delivered"},
    {CrashPoint::worker_refused, "worker-refused"},
    {CrashPoint::worker_recorded, "worker-recorded"},
    {CrashPoint::worker_extended, "worker-extended"},
    {CrashPoint::workflow_reserved, "workflow-reserved"},
    {CrashPoint::workflow_taken, "workflow-taken"},
    {CrashPoint::workflow_before_call, "workflow-before-call"},
    {CrashPoint::workflow_called, "workflow-called"},
    {CrashPoint::workflow_in_body, "workflow-in-body"},
    {CrashPoint::workflow_before_commit, "workflow-before-commit"},
    {CrashPoint::workflow_committed, "workflow-committed"},
    {CrashPoint::workflow_before_answer, "workflow-before-answer"},
};

std::atomic<long> arrivals_left{1};

void print_names(std::FILE* out) {
  for (const CrashPointName& known : names) {
    std::fprintf(out, "%.*s\n", static_cast<int>(known.name.size()), known.name.data());
  }
  std::fflush(out);
}

[[noreturn]] void refuse(std::string_view setting) {
  std::fprintf(stderr, "ONCEKEY_CRASH_AT=%.*s: not STEP or STEP:N; the steps are:\n",
               static_cast<int>(setting.size()), setting.data());
  print_names(stderr);
  std::_Exit(2);
}

int armed_by_environment() {
  const char* value = std::getenv("ONCEKEY_CRASH_AT");
  if (!value || !*value) return -1;
  std::string_view setting = value;
  if (setting == "list") {
    print_names(stdout);
    std::_Exit(0);
  }
  std::size_t colon = setting.find(':');
  if (colon != std::string_view::npos) {
    std::string_view digits = setting.substr(colon + 1);
    long times = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), times);
    if (error != std::errc() || end != digits.data() + digits.size() || times < 1) refuse(setting);
    arrivals_left = times;
  }
  for (const CrashPointName& known : names) {
    if (known.name == setting.substr(0, colon)) return static_cast<int>(known.point);
  }
  refuse(setting);
}

}  // namespace

std::span<const CrashPointName> crash_points() {
  return names;
}

namespace crash_point_detail {

// Read before main: a process that was given a wrong name has done nothing yet.
std::atomic<int> armed = armed_by_environment();

void arrived() {
  if (arrivals_left.fetch_sub(1) == 1) std::raise(SIGKILL);
}

}  // namespace crash_point_detail

}  // namespace oncekey
