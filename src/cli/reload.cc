#include "cli/reload.h"

#include <signal.h>
#include <simdjson.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ostream>
#include <thread>

#include "cli/admin_place.h"
#include "cli/command_words.h"
#include "cli/flags.h"

namespace oncekey::cli {
namespace {

// A reload looks names up and reads files; an upstream's name is what can take long.
constexpr DurationMs reload_timeout_ms = 30'000;
constexpr auto look_again_after = std::chrono::milliseconds(20);

// What GET and POST /v1/reload answer.
struct Verdict {
  std::int64_t pid = 0;
  std::int64_t count = 0;
  std::string refusal;  // "": applied
  std::vector<std::string> changed;
};

Result<Verdict, std::string> read_verdict(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  Verdict verdict;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root["pid"].get(verdict.pid) != simdjson::SUCCESS ||
      root["count"].get(verdict.count) != simdjson::SUCCESS) {
    return std::string("the answer is not an oncekey gateway's");
  }
  std::string_view refusal;
  if (root["refusal"].get(refusal) == simdjson::SUCCESS) verdict.refusal = refusal;
  simdjson::dom::array changed;
  if (root["changed"].get(changed) == simdjson::SUCCESS) {
    for (const simdjson::dom::element name : changed) {
      std::string_view text;
      if (name.get(text) == simdjson::SUCCESS) verdict.changed.emplace_back(text);
    }
  }
  return verdict;
}

// A refusal to be asked (a token is missing, nothing to reload) is the error, in its own words.
Result<Verdict, std::string> ask_about_reload(const AdminPlace& place, std::string method) {
  auto answer = ask(place, {std::move(method), "/v1/reload", "{}", reload_timeout_ms});
  if (!answer) return answer.error().why;
  if (answer->status == 200) return read_verdict(answer->body);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view detail;
  if (parser.parse(answer->body).get(root) == simdjson::SUCCESS &&
      root["detail"].get(detail) == simdjson::SUCCESS) {
    if (answer->status != 422) return in_command_words(detail);
    Verdict refused;
    refused.refusal = detail;
    return refused;
  }
  return "answered with status " + std::to_string(answer->status);
}

Result<Verdict, std::string> reload_by_signal(const AdminPlace& place, std::int64_t pid) {
  auto before = ask_about_reload(place, "GET");
  if (!before) return before.error();
  // SIGHUP would end another process.
  if (before->pid != pid) {
    return "process " + std::to_string(pid) + " is not the gateway at " + place.url.authority +
           ", which is process " + std::to_string(before->pid);
  }
  if (::kill(static_cast<pid_t>(pid), SIGHUP) != 0) {
    return "process " + std::to_string(pid) + " cannot be told: " + std::strerror(errno);
  }
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(reload_timeout_ms);
  while (std::chrono::steady_clock::now() < until) {
    auto now = ask_about_reload(place, "GET");
    if (!now || now->count > before->count) return now;
    std::this_thread::sleep_for(look_again_after);
  }
  return std::string("no verdict came in time; the gateway's log will have it");
}

}  // namespace

int run_reload(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Let a running gateway read its configuration again. It is checked first, and put in force "
      "as a whole or not at all; no request is dropped.",
      "oncekey reload");
  AdminFlags where;
  std::int64_t pid = 0;
  declare_admin_flags(app, where);
  app.add_option("--pid", pid, "tell the process by SIGHUP; the admin port only gives the verdict")
      ->type_name("PID")
      ->check(CLI::PositiveNumber);
  app.footer(
      "The gateway reads the file that it was started with. Without --pid, a token that may write\n"
      "is needed. Exit status: 0 in force, 1 refused or not reached.");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto place = find_admin(where, surroundings.environment);
  if (!place) {
    surroundings.err << "oncekey: " << place.error() << '\n';
    return exit_usage;
  }
  const auto verdict = pid > 0 ? reload_by_signal(*place, pid) : ask_about_reload(*place, "POST");
  if (!verdict) {
    surroundings.err << "oncekey: " << verdict.error() << '\n';
    return exit_failed;
  }
  if (!verdict->refusal.empty()) {
    surroundings.err << "refused, and nothing was changed:\n" << verdict->refusal << '\n';
    return exit_failed;
  }
  surroundings.out << "in force; changed: ";
  if (verdict->changed.empty()) surroundings.out << "nothing";
  for (std::size_t i = 0; i < verdict->changed.size(); ++i) {
    surroundings.out << (i == 0 ? "" : "; ") << verdict->changed[i];
  }
  surroundings.out << '\n';
  return exit_good;
}

int run_reload(int argc, char** argv) {
  return run_reload(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
