#include "verify/run.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace oncekey::verify {
namespace {

using Clock = std::chrono::steady_clock;

DurationMs since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

CheckResult run_one(Probe& probe, const Check& check) {
  const Subject& subject = probe.subject();
  CheckResult result;
  result.check = check;
  const auto start = Clock::now();
  const int sent_before = probe.sent();
  const std::string obstacle = obstacle_to(check, subject);
  probe.begin(requests_of(check.cost, subject));
  if (!obstacle.empty()) {
    result.finding = skip(obstacle);
  } else {
    try {
      result.finding = check.run(probe);
    } catch (const RequestsSpent& spent) {
      result.finding = skip(spent.what());
    }
  }
  result.trace = probe.trace();
  result.requests = probe.sent() - sent_before;
  result.took_ms = since(start);
  return result;
}

bool contains(const std::vector<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The first check's refusal, with what the API said.
std::string why_unusable(const CheckResult& accepts) {
  if (accepts.finding.verdict == Verdict::pass) return "";
  for (const Exchange& exchange : accepts.trace) {
    const bool refused = exchange.answer.status >= 300 && !exchange.answer.body.empty();
    if (refused) return accepts.finding.what + ": " + excerpt(exchange.answer.body);
  }
  return accepts.finding.what;
}

}  // namespace

Result<std::vector<Check>, std::string> chosen_checks(const Choice& choice) {
  const std::vector<Check> all = all_checks();
  for (const auto* ids : {&choice.only, &choice.skip}) {
    for (const std::string& id : *ids) {
      const bool known =
          std::any_of(all.begin(), all.end(), [&id](const Check& check) { return check.id == id; });
      if (!known) return "there is no check \"" + id + "\"; --plan lists them";
    }
  }
  std::vector<Check> chosen;
  for (const Check& check : all) {
    const bool wanted = choice.only.empty() || contains(choice.only, check.id);
    const bool first = &check == &all.front();
    if (first || (wanted && !contains(choice.skip, check.id))) chosen.push_back(check);
  }
  return chosen;
}

Report run(const Subject& subject, const std::vector<Check>& checks, const Progress& progress) {
  const auto start = Clock::now();
  Report report;
  report.url = subject.url;
  report.method = subject.method;
  report.profile = subject.expected.profile;
  report.started = now_text();
  report.requests_max = subject.requests_max;
  Probe probe(subject);
  for (const Check& check : checks) {
    progress.begins(check);
    report.results.push_back(run_one(probe, check));
    progress.ended(report.results.back());
    if (report.results.size() == 1) {
      report.unusable = why_unusable(report.results.front());
      if (!report.unusable.empty()) break;
    }
  }
  report.requests = probe.sent();
  report.took_ms = since(start);
  return report;
}

std::string plan(const Subject& subject, const std::vector<Check>& checks) {
  Probe probe(subject);
  Request sample = probe.request(probe.new_operation(), "");
  std::string text = "Nothing is sent. A request looks like this:\n\n  " + request_line(sample) +
                     "\n  " + excerpt(sample.body) + "\n\n";
  int total = 0;
  for (const Check& check : checks) {
    const std::string obstacle = obstacle_to(check, subject);
    const int most = obstacle.empty() ? requests_of(check.cost, subject) : 0;
    total += most;
    const std::string number = obstacle.empty() ? std::to_string(most) : "-";
    text += padded(number, 5) + padded(std::string(check.id), 22) + " " +
            (obstacle.empty() ? std::string(check.sends) : "skipped: " + obstacle) + "\n";
  }
  text += "\nAt most " + std::to_string(std::min(total, subject.requests_max)) + " requests";
  if (total > subject.requests_max) {
    text += " (--max-requests; " + std::to_string(total) + " if every poll were needed)";
  }
  return text + ". The number before a check is the most that it may send.\n";
}

}  // namespace oncekey::verify
