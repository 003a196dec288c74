#include "crash/load.h"

#include <optional>

#include "support/behaviour.h"
#include "support/waiting.h"

namespace oncekey::test {

// One client with one connection at a time.
class Load::Client {
 public:
  Client(Load& load, std::uint64_t seed, int number)
      : load_(load), random_(seed * 1000 + static_cast<std::uint64_t>(number)), number_(number) {}

  void run() {
    while (!load_.stopping_) {
      std::size_t operation = choose();
      if (chance(2)) {
        send_changed(operation);
      } else {
        send_until_answered(operation);
      }
    }
  }

 private:
  bool chance(std::uint64_t percent) { return random_() % 100 < percent; }

  std::size_t choose() {
    if (chance(20)) {
      if (auto recent = load_.ledger_.pick_recent(random_)) return *recent;
    }
    std::string name = std::to_string(number_) + "-" + std::to_string(++opened_);
    return load_.ledger_.open("crash-campaign-key-" + name, "{\"order\":\"" + name + "\"}");
  }

  // Most work is quick and succeeds. Some of it is slow enough to be hit by a kill, some fails with
  // proof, some leaves no answer.
  std::string behaviour() {
    std::uint64_t draw = random_() % 100;
    if (draw < 5) return "status=503";
    if (draw < 8) return "status=500 outcome=not-executed";
    if (draw < 10) return "reset-unanswered";
    if (draw < 12) return "cut-body size=3000";
    if (draw < 30) return "delay=" + std::to_string(random_() % 30);
    if (draw < 35) return "binary size=" + std::to_string(random_() % 50'000);
    return "";
  }

  HttpResponse send(HttpRequest request) {
    std::string words = behaviour();
    if (!words.empty()) request.with(std::string(behaviour_header), words);
    used_port_ = load_.port_;
    if (!connection_ || connection_port_ != used_port_) {
      connection_.emplace(used_port_);
      connection_port_ = used_port_;
    }
    ++load_.requests_;
    HttpResponse response = connection_->exchange(request);
    if (response.status == 0) {
      ++load_.lost_;
      connection_.reset();
    } else if (response.has_token("Connection", "close")) {
      connection_.reset();
    }
    return response;
  }

  void send_until_answered(std::size_t number) {
    Operation operation = load_.ledger_.at(number);
    for (int attempt = 0; attempt < 3 && !load_.stopping_; ++attempt) {
      HttpResponse response = send(request_of(operation));
      if (response.status / 100 == 2) {
        std::string wrong = load_.ledger_.acknowledge(number, response);
        if (!wrong.empty()) load_.complain(wrong);
        return;
      }
      if (response.status == 422) load_.complain("422 for an unchanged body, key " + operation.key);
      if (response.status != 0) return;  // told to wait, or failed: a later duplicate asks again
      load_.wait_for_gateway(used_port_);
      if (chance(20)) return;  // a client that gives up; the end asks for its key
    }
  }

  // The same key with another body, after the first was certainly seen: refused in every state.
  void send_changed(std::size_t number) {
    Operation operation = load_.ledger_.at(number);
    if (!operation.answer) return;
    operation.body = "{\"changed\":true}";
    HttpResponse response = send(request_of(operation));
    if (response.status != 0 && response.status != 422) {
      load_.complain("a changed body was answered " + std::to_string(response.status) + ", key " +
                     operation.key);
    }
  }

  Load& load_;
  std::mt19937_64 random_;
  int number_;
  std::uint64_t opened_ = 0;
  std::optional<HttpConnection> connection_;
  std::uint16_t connection_port_ = 0;
  std::uint16_t used_port_ = 0;
};

Load::Load(Ledger& ledger, std::uint64_t seed, int clients) : ledger_(ledger) {
  for (int number = 0; number < clients; ++number) {
    threads_.emplace_back([this, seed, number] {
      wait_for_gateway(0);
      Client(*this, seed, number).run();
    });
  }
}

void Load::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::complain(std::string violation) {
  std::lock_guard lock(mutex_);
  violations_.push_back(std::move(violation));
}

std::vector<std::string> Load::violations() const {
  std::lock_guard lock(mutex_);
  return violations_;
}

// A lost connection may also be the gateway's own doing, so this does not insist on a new port.
void Load::wait_for_gateway(std::uint16_t lost_port) {
  eventually([&] { return stopping_ || port_ != lost_port; }, Milliseconds(2000));
}

HttpRequest Load::request_of(const Operation& operation) {
  HttpRequest request{.body = operation.body};
  request.with("Content-Type", "application/json").with("Idempotency-Key", operation.key);
  return request;
}

}  // namespace oncekey::test
