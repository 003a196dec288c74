#include "payments/clients.h"

#include "payments/stage.h"
#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr double refund_share = 0.15;
constexpr double async_share = 0.5;
constexpr double duplicate_share = 0.2;  // of turns: an operation that another client has, or had
constexpr std::size_t recent = 50;       // among which duplicates and payments to refund are chosen
constexpr Milliseconds answer_timeout{10'000};
constexpr Milliseconds pause_max{40};

bool is_final(int status) {
  return status >= 200 && status < 500 && status != 409;
}

bool chance(std::mt19937_64& random, double share) {
  return std::uniform_real_distribution<double>(0, 1)(random) < share;
}

}  // namespace

PaymentClients::PaymentClients(std::uint16_t port, std::uint64_t seed, std::size_t payments,
                               int clients)
    : port_(port), payments_(payments), running_(clients) {
  operations_.reserve(payments * 2);
  for (int i = 0; i < clients; ++i) {
    threads_.emplace_back([this, own_seed = seed + static_cast<std::uint64_t>(i)] {
      work(own_seed);
      --running_;
    });
  }
}

PaymentClients::~PaymentClients() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void PaymentClients::work(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  HttpConnection connection(port_);
  while (const auto number = next(random)) send_until_final(*number, connection, random);
}

std::optional<std::size_t> PaymentClients::next(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  if (begun_ >= payments_ || stopping_) return std::nullopt;
  const auto any_recent = [&]() -> std::size_t {
    const std::size_t span = std::min(recent, operations_.size());
    return operations_.size() - 1 - random() % span;
  };
  if (!operations_.empty() && chance(random, duplicate_share)) return any_recent();

  PaymentOperation operation;
  operation.key = "campaign-operation-" + std::to_string(operations_.size());
  operation.amount = static_cast<int>(100 + random() % 900);
  if (!operations_.empty() && chance(random, refund_share)) {
    const PaymentOperation& paid = operations_[any_recent()];
    if (!paid.refund && (paid.status == 201 || paid.status == 202)) {
      operation.refund = true;
      operation.amount = paid.amount / 4;
      operation.request =
          PaymentsStage::refund(json_text(paid.body, "/id"), operation.key, operation.amount);
    }
  }
  if (!operation.refund) {
    operation.request = PaymentsStage::payment(operation.key, operation.amount);
    ++begun_;
  }
  operation.async = chance(random, async_share);
  if (operation.async) operation.request.with("Prefer", "respond-async");
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}

void PaymentClients::send_until_final(std::size_t number, HttpConnection& connection,
                                      std::mt19937_64& random) {
  const HttpRequest request = at(number).request;
  while (!stopping_) {
    const HttpResponse response = connection.exchange(request, answer_timeout);
    note(number, response);
    if (response.status == 0) connection = HttpConnection(port_);
    if (is_final(response.status)) return;
    let_time_pass(Milliseconds(1 + random() % pause_max.count()));
  }
}

void PaymentClients::note(std::size_t number, const HttpResponse& response) {
  const std::lock_guard lock(mutex_);
  ++figures_.requests;
  if (response.status == 0) ++figures_.connections_lost;
  if (response.header("Idempotency-Replayed") == "true") ++figures_.replays;
  if (!is_final(response.status)) return;
  PaymentOperation& operation = operations_[number];
  if (operation.status == 0) {
    operation.status = response.status;
    operation.body = response.body;
  } else if (operation.status != response.status || operation.body != response.body) {
    violations_.push_back(operation.key + ": answered " + std::to_string(operation.status) + " " +
                          operation.body + " and then " + std::to_string(response.status) + " " +
                          response.body);
  }
}

PaymentOperation PaymentClients::at(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return operations_[number];
}

void PaymentClients::ask_again() {
  std::mt19937_64 random(operations_.size());
  HttpConnection connection(port_);
  for (std::size_t number = 0; number < operations_.size(); ++number) {
    send_until_final(number, connection, random);
  }
}

ClientFigures PaymentClients::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

std::vector<std::string> PaymentClients::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

}  // namespace oncekey::test
