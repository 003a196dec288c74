#include "verify/probe.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <latch>
#include <set>
#include <thread>

#include "boundary/json_document.h"
#include "client/request_text.h"

namespace oncekey::verify {
namespace {

// The elements of a list, or a number.
std::optional<std::int64_t> count_at(const std::string& json, const std::string& pointer) {
  const JsonDocument document(json);
  if (const auto size = document.size_at(pointer)) return static_cast<std::int64_t>(*size);
  const std::string number = document.text_at(pointer).value_or("");
  std::int64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = !number.empty() && read.ptr == number.data() + number.size();
  if (!whole || read.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

Probe::Probe(const Subject& subject) : subject_(subject) {}

void Probe::begin(int requests_max) {
  trace_.clear();
  left_ = requests_max;
}

void Probe::spend(int count) {
  if (count > left_) throw RequestsSpent("the check needs more requests than it stated");
  if (sent_ + count > subject_.requests_max) {
    throw RequestsSpent("the limit of " + std::to_string(subject_.requests_max) +
                        " requests is reached; --max-requests raises it");
  }
  left_ -= count;
  sent_ += count;
}

Operation Probe::new_operation() {
  Operation operation;
  operation.key = client::random_key();
  operation.uuid = client::random_key();
  operation.number = ++last_number_;
  operation.body = fill_in(subject_.body, operation);
  return operation;
}

Operation Probe::other_operation(const Operation& operation) {
  Operation other = new_operation();
  other.key = operation.key;
  if (other.body == operation.body) other.body = altered(operation.body);
  return other;
}

std::string Probe::key_line(const std::string& key) const {
  return subject_.quoted_keys ? "\"" + key + "\"" : key;
}

Request Probe::request(const Operation& operation, std::string what) const {
  Request made;
  made.what = std::move(what);
  made.method = subject_.method;
  made.target = fill_in(subject_.place.target, operation);
  made.body = operation.body;
  made.keys = {key_line(operation.key)};
  return made;
}

Request Probe::slow_request(const Operation& operation, std::string what) const {
  Request made = request(operation, std::move(what));
  made.headers = subject_.slow_header;
  return made;
}

Request Probe::on(Node node, const Operation& operation, Request request) const {
  request.node = node;
  if (node == Node::second) request.target = fill_in(subject_.second_node->target, operation);
  return request;
}

Answer Probe::send(const Request& request) {
  spend(1);
  trace_.push_back({request, exchange(request, subject_), ""});
  return trace_.back().answer;
}

std::vector<Answer> Probe::send_together(const std::vector<Request>& requests) {
  spend(static_cast<int>(requests.size()));
  std::vector<Answer> answers(requests.size());
  {
    std::latch ready(static_cast<std::ptrdiff_t>(requests.size()));
    std::vector<std::jthread> senders;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      senders.emplace_back([&, i] {
        ready.arrive_and_wait();
        answers[i] = exchange(requests[i], subject_);
      });
    }
  }
  for (std::size_t i = 0; i < requests.size(); ++i) trace_.push_back({requests[i], answers[i], ""});
  return answers;
}

Answer Probe::send_until_final(const Request& request) {
  Answer answer = send(request);
  for (int i = 1; i < polls_max && answer.status == expected().in_flight; ++i) {
    wait(poll_pause_ms);
    answer = send(request);
  }
  return answer;
}

std::string Probe::leave(const Request& request, Leaving leaving) {
  spend(1);
  std::string problem = hang_up(request, subject_, leaving);
  Answer none;
  none.error = problem.empty() ? "the client left before the answer" : problem;
  trace_.push_back({request, none, ""});
  return problem;
}

bool Probe::Running::done() const {
  return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Probe::Running Probe::start(const Request& request) {
  spend(1);
  Running running;
  running.place_ = trace_.size();
  trace_.push_back({request, {}, ""});
  running.answer_ = std::async(std::launch::async,
                               [request, this]() -> Answer { return exchange(request, subject_); });
  return running;
}

Answer Probe::finish(Running& running) {
  Answer answer = running.finish();
  trace_[running.place_].answer = answer;
  return answer;
}

void Probe::give_head_start() const {
  wait(subject_.head_start_ms);
}

void Probe::wait(DurationMs duration) const {
  std::this_thread::sleep_for(std::chrono::milliseconds(duration));
}

std::optional<std::int64_t> Probe::effects(const std::vector<Operation>& operations,
                                           Caller caller) {
  if (!subject_.effects) return std::nullopt;
  std::set<std::string> targets;
  for (const Operation& operation : operations) {
    targets.insert(fill_in(subject_.effects->place.target, operation));
  }
  std::int64_t total = 0;
  for (const std::string& target : targets) {
    Request count;
    count.what = "count the effects";
    count.method = "GET";
    count.target = target;
    count.caller = caller;
    count.node = Node::effects;
    const Answer answer = send(count);
    const auto counted = answer.success() ? count_at(answer.body, subject_.effects->pointer)
                                          : std::optional<std::int64_t>();
    if (!counted) return std::nullopt;
    trace_.back().note = "counted " + std::to_string(*counted);
    total += *counted;
  }
  return total;
}

std::string Probe::id_of(const Answer& answer) const {
  if (subject_.id_pointer.empty() || !answer.success()) return "";
  return JsonDocument(answer.body).text_at(subject_.id_pointer).value_or("");
}

const Probe::Pair& Probe::pair() {
  if (pair_) {
    trace_ = pair_->trace;
    return *pair_;
  }
  Pair made;
  made.operation = new_operation();
  Meter meter(*this, {made.operation});
  made.first = send(request(made.operation, "the first request"));
  made.retry = send(request(made.operation, "the same again"));
  made.effects = meter.grown();
  made.trace = trace_;
  pair_ = std::move(made);
  return *pair_;
}

Meter::Meter(Probe& probe, std::vector<Operation> operations, Caller caller)
    : probe_(probe),
      operations_(std::move(operations)),
      caller_(caller),
      before_(probe.effects(operations_, caller)) {}

std::optional<std::int64_t> Meter::grown() {
  if (!before_) return std::nullopt;
  const auto after = probe_.effects(operations_, caller_);
  if (!after) return std::nullopt;
  return *after - *before_;
}

std::string signs_of_repetition(const Probe& probe, std::optional<std::int64_t> effects,
                                const std::vector<Answer>& answers) {
  if (effects && *effects > 1) return std::to_string(*effects) + " effects were counted";
  std::set<std::string> ids;
  std::set<std::string> bodies;
  for (const Answer& answer : answers) {
    if (!answer.success()) continue;
    bodies.insert(answer.body);
    if (const std::string id = probe.id_of(answer); !id.empty()) ids.insert(id);
  }
  if (ids.size() > 1) {
    return "the answers name " + std::to_string(ids.size()) + " things: " + *ids.begin() + ", " +
           *ids.rbegin();
  }
  // Without a better sign, a different answer is one.
  const bool blind = !effects && ids.empty();
  if (blind && bodies.size() > 1) {
    return std::to_string(bodies.size()) + " different successful answers came back";
  }
  return "";
}

}  // namespace oncekey::verify
