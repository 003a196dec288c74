#include "crash/inquest.h"

#include <thread>

#include "support/behaviour.h"
#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr int askers = 4;

// Before a request is at the upstream it is reserved, and after its work it is settled. On a busy
// machine either takes this long at most, as long as nothing happens to the store.
constexpr Milliseconds under_way{1500};

bool leaves_no_answer(const Arrival& arrival) {
  Behaviour behaviour = parse_behaviour(arrival.request.header(behaviour_header));
  return behaviour.ending != Behaviour::Ending::none;
}

bool is_unknown(const HttpResponse& response) {
  return response.status == 409 && json_text(response.body, "/code") == "outcome_unknown";
}

}  // namespace

Inquest::Inquest(Ledger& ledger, const Audit& audit, std::vector<Outage> outages,
                 CampaignReport& report)
    : ledger_(ledger), audit_(audit), outages_(std::move(outages)), report_(report) {}

void Inquest::find(Finding::Kind kind, const std::string& key, const std::string& what) {
  report_.findings.push_back({kind, key, key.empty() ? what : "key " + key + " " + what});
}

void Inquest::expect_all_settled(GatewayProcess& gateway, Milliseconds within) {
  HttpResponse list;
  auto none_left = [&] {
    list = gateway.admin("/v1/keys?state=in_progress&limit=10");
    return list.status == 200 && json_at(list.body, "/keys") && !json_at(list.body, "/keys/0");
  };
  if (eventually(none_left, within)) return;
  if (list.status != 200 || !json_at(list.body, "/keys")) {
    find(Finding::Kind::fault, "", "the records cannot be listed: " + list.body + list.failure);
  } else {
    find(Finding::Kind::fault, json_text(list.body, "/keys/0/key"), "is still in progress");
  }
}

void Inquest::ask_for_every_key(const std::vector<std::uint16_t>& ports) {
  arrivals_.clear();
  for (Arrival& arrival : audit_.all()) arrivals_[arrival.key].push_back(std::move(arrival));
  next_ = 0;
  std::vector<std::thread> threads;
  for (int asker = 0; asker < askers; ++asker) threads.emplace_back([&] { ask(ports); });
  for (std::thread& thread : threads) thread.join();
  report_.keys = ledger_.size();
}

void Inquest::ask(const std::vector<std::uint16_t>& ports) {
  std::vector<HttpConnection> connections;
  for (std::uint16_t port : ports) connections.emplace_back(port);
  for (std::size_t number; (number = next_++) < ledger_.size();) {
    std::size_t gateway = number % ports.size();
    HttpResponse response = connections[gateway].exchange(ledger_.at(number).request());
    if (response.status == 0 || response.has_token("Connection", "close")) {
      connections[gateway] = HttpConnection(ports[gateway]);
    }
    std::lock_guard lock(mutex_);
    judge(number, response);
  }
}

void Inquest::judge(std::size_t number, const HttpResponse& response) {
  Operation operation = ledger_.at(number);
  bool replayed = response.header("Idempotency-Replayed") == "true";
  std::string told = std::to_string(response.status) + " " + response.failure;
  if (replayed) ++report_.replayed_at_end;
  if (operation.answer) ++report_.acknowledged;
  if (operation.answer && (!is_final(response) || !replayed)) {
    find(Finding::Kind::loss, operation.key, "was acknowledged and does not replay: " + told);
  } else if (operation.answer) {
    std::string wrong = ledger_.acknowledge(number, response);
    if (!wrong.empty()) report_.findings.push_back({Finding::Kind::loss, operation.key, wrong});
  } else if (operation.told_unknown && !is_unknown(response)) {
    find(Finding::Kind::loss, operation.key, "was unknown before, and is now answered " + told);
  } else if (is_final(response) && replayed) {
    ++report_.unacknowledged_replays;
    const std::vector<Arrival>& arrivals = arrivals_[operation.key];
    if (arrivals.empty() || arrivals.back().answer != response.body) {
      find(Finding::Kind::fault, operation.key, "replays what the upstream did not answer");
    }
  } else if (is_final(response)) {
    ++report_.executed_at_end;
  } else if (is_unknown(response)) {
    judge_unknown(operation);
  } else {
    find(Finding::Kind::fault, operation.key, "is answered " + told + response.body);
  }
}

bool Inquest::was_near(const Outage& outage, WallTime from, WallTime to) const {
  return may_leave_unknown(outage.blow, report_.store) && outage.from <= to + under_way &&
         outage.to >= from - under_way;
}

// A key that was dispatched is unknown since its last arrival; one that was not, since one of the
// times when a client sent it.
void Inquest::judge_unknown(const Operation& operation) {
  WallTime from = operation.first_sent;
  WallTime to = operation.last_sent;
  if (auto found = arrivals_.find(operation.key); found != arrivals_.end()) {
    const Arrival& last = found->second.back();
    if (leaves_no_answer(last)) {
      ++report_.unknown_of_upstream;
      return;
    }
    from = to = last.time;
  }
  bool of_store = false;
  bool of_kill = false;
  for (const Outage& outage : outages_) {
    if (!was_near(outage, from, to)) continue;
    bool killed = outage.blow == Blow::gateway_killed || outage.blow == Blow::everything_killed;
    (killed ? of_kill : of_store) = true;
  }
  if (of_kill) {
    ++report_.unknown_of_kill;
  } else if (of_store) {
    ++report_.unknown_of_outage;
  } else {
    find(Finding::Kind::fault, operation.key, "is unknown, and nothing explains it");
  }
}

void Inquest::compare_with_audit() {
  std::map<std::string, std::size_t> executions;
  for (const Arrival& arrival : audit_.all()) {
    ++report_.arrivals;
    std::size_t& before = executions[arrival.key];
    // Whatever the arrival did: work that was done must never be dispatched again.
    if (before > 0) {
      find(Finding::Kind::loss, arrival.key,
           "was dispatched again after its execution, arrival " + std::to_string(arrival.number));
    }
    if (arrival.request.body == "{\"changed\":true}") {
      find(Finding::Kind::loss, arrival.key, "reached the upstream with a changed body");
    }
    if (!arrival.effect) continue;
    if (++before == 2) ++report_.executed_twice;
    ++report_.executions;
  }
}

}  // namespace oncekey::test
