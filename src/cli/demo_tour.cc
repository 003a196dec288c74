#include "cli/demo_tour.h"

#include <chrono>
#include <cstdlib>
#include <future>

namespace oncekey::cli {
namespace {

constexpr const char* espresso = R"({"item":"espresso","quantity":1})";
constexpr std::chrono::seconds slow_order_limit{10};

bool is_replay(const DemoAnswer& answer) {
  return answer.header("Idempotency-Replayed") == "true";
}

bool names_code(const DemoAnswer& answer, std::string_view code) {
  return answer.member("/code") == code;
}

bool says_when_to_retry(const DemoAnswer& answer) {
  return std::atoi(answer.header("Retry-After").c_str()) >= 1;
}

}  // namespace

bool DemoTour::run(const std::function<bool()>& interrupted) {
  using Step = void (DemoTour::*)();
  for (Step step : {&DemoTour::first_request, &DemoTour::retry_is_replayed, &DemoTour::two_at_once,
                    &DemoTour::other_body, &DemoTour::missing_key, &DemoTour::answer_cut_off,
                    &DemoTour::proved_failure}) {
    if (interrupted() || screen_.broken()) return false;
    (this->*step)();
  }
  return failures_ == 0;
}

void DemoTour::first_request() {
  screen_.step(
      1, "The first request is executed",
      "The gateway writes the client's key down, forwards the POST, and keeps the answer.");
  first_ = send(post("/orders", key("order-1"), espresso));
  check(first_.status == 201 && !is_replay(first_), "201: the upstream made the order");
}

void DemoTour::retry_is_replayed() {
  screen_.step(
      2, "A retry gets the same answer",
      "The client did not get the answer, say, and sends the same request with the same key.");
  const DemoAnswer retry = send(post("/orders", key("order-1"), espresso));
  check(retry.status == 201 && is_replay(retry), "201 again, marked as a replay");
  check(retry.body == first_.body && !retry.body.empty(),
        "the body is the first one, byte by byte");
  check_made_once("/orders", key("order-1"));
}

void DemoTour::two_at_once() {
  screen_.step(3, "Two at once: one is executed, the other is told to wait",
               "The upstream takes a second to answer; the retry arrives in the meantime.");
  DemoRequest slow = post("/orders", key("order-2"), R"({"item":"lungo","quantity":2})");
  slow.headers.emplace_back("X-Demo-Delay", "1s");
  screen_.request(slow, "the first; its answer comes further down");
  auto running = std::async(std::launch::async, [&slow] { return send_request(slow); });
  shop_.wait_for_execution(key("order-2"), slow_order_limit);
  const DemoAnswer second = send(slow, "the retry, while the first is still running");
  check(second.status == 409 && names_code(second, "request_in_flight"),
        "409: the order is not made a second time");
  check(says_when_to_retry(second), "Retry-After says when to ask again");
  const DemoAnswer first = running.get();
  screen_.blank();
  screen_.line("# and now the first has its answer");
  show(first);
  check(first.status == 201 && !is_replay(first), "201 for the one that ran");
  const DemoAnswer retry = send(slow, "the retry, a second later");
  check(is_replay(retry) && retry.body == first.body, "a replay now, without the delay");
  check_made_once("/orders", key("order-2"));
}

void DemoTour::other_body() {
  screen_.step(
      4, "The same key with another body is refused",
      "Ten instead of one is no retry: a replay would be wrong, and so would a second order.");
  const DemoAnswer answer =
      send(post("/orders", key("order-1"), R"({"item":"espresso","quantity":10})"));
  check(answer.status == 422 && names_code(answer, "idempotency_key_reused"),
        "422: nothing was executed");
  const DemoAnswer same =
      send(post("/orders", key("order-1"), R"({ "quantity": 1, "item": "espresso" })"),
           "the first order again; spaces and the order of members do not matter");
  check(same.status == 201 && is_replay(same), "a retry, although its bytes differ");
  check_made_once("/orders", key("order-1"));
}

void DemoTour::missing_key() {
  screen_.step(5, "No key, no POST",
               "A POST that could not be retried safely is turned away, with a link to the rules.");
  const DemoAnswer answer = send(post("/orders", "", espresso));
  check(answer.status == 400 && names_code(answer, "idempotency_key_missing"),
        "400: nothing is executed without a key");
  check(answer.header("Link").find("/.well-known/idempotency") != std::string::npos,
        "the answer links to the published policy");
}

void DemoTour::answer_cut_off() {
  screen_.step(6, "The upstream breaks off in the middle of its answer",
               "Was the payment made? The gateway cannot know, so it lets nobody make it again.");
  DemoRequest request = post("/payments", key("payment-1"), R"({"amount":350,"currency":"EUR"})");
  request.headers.emplace_back("X-Demo-Fault", "cut");
  const DemoAnswer cut = send(request);
  check(cut.status >= 500, "an error, and no half answer");
  request.headers.pop_back();
  const DemoAnswer retry = send(request, "the retry; the upstream is well again");
  check(retry.status == 409 && names_code(retry, "outcome_unknown"),
        "409: the payment is not made a second time");
  check_made_once("/payments", key("payment-1"));
}

void DemoTour::proved_failure() {
  screen_.step(7, "After a failure that did nothing, the retry is executed",
               "By default a 503 means that the work was not begun: the same key may try again.");
  DemoRequest request = post("/orders", key("order-3"), R"({"item":"ristretto","quantity":1})");
  request.headers.emplace_back("X-Demo-Fault", "503");
  const DemoAnswer failed = send(request);
  check(failed.status == 503, "503, as the upstream said");
  request.headers.pop_back();
  const DemoAnswer retry = send(request, "the retry; the upstream is well again");
  check(retry.status == 201 && !is_replay(retry), "201: executed now");
  check(retry.member("/attempt") == "2", "the upstream was told that this is attempt 2");
  check_made_once("/orders", key("order-3"));
}

std::string DemoTour::key(std::string_view name) const {
  return std::string(name) + "-" + stops_.run;
}

DemoRequest DemoTour::post(std::string_view path, const std::string& key, std::string body) const {
  DemoRequest request;
  request.method = "POST";
  request.address = stops_.gateway;
  request.target = path;
  request.body = std::move(body);
  if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
  return request;
}

DemoAnswer DemoTour::send(const DemoRequest& request, std::string_view note) {
  screen_.request(request, note);
  DemoAnswer answer = send_request(request);
  show(answer);
  return answer;
}

void DemoTour::show(const DemoAnswer& answer) {
  screen_.answer(
      answer, {"Location", "Idempotency-Replayed", "Idempotency-Expires", "Retry-After", "Link"});
}

void DemoTour::check(bool holds, std::string_view expectation) {
  ++checks_;
  if (!holds) ++failures_;
  screen_.check(holds, expectation);
}

void DemoTour::check_made_once(std::string_view path, const std::string& key) {
  DemoRequest request;
  request.address = stops_.upstream;
  request.target = std::string(path) + "?key=" + key;
  screen_.request(request, "what the upstream has");
  const DemoAnswer answer = send_request(request);
  screen_.body(answer);
  check(answer.member("/count") == "1", "executed exactly once");
}

}  // namespace oncekey::cli
