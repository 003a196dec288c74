#include "crash/load.h"

#include <algorithm>
#include <optional>

#include "support/behaviour.h"
#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

using Clock = std::chrono::steady_clock;

// A client that is told to come back later does so, and not at once.
constexpr Milliseconds refused_pause{20};

}  // namespace

// One client with one connection to each gateway.
class Load::Client {
 public:
  Client(Load& load, int number)
      : load_(load),
        random_(load.options_.seed * 1000 + static_cast<std::uint64_t>(number)),
        number_(number),
        lines_(load.options_.gateways) {}

  void run() {
    while (!load_.stopping_) {
      std::size_t operation = choose();
      if (chance(2)) {
        send_changed(operation);
      } else if (lines_.size() > 1 && chance(10)) {
        send_to_all(operation);
      } else {
        send_until_answered(operation);
      }
      if (load_.options_.pause_max.count() > 0) {
        let_time_pass(Milliseconds(
            random_() % static_cast<std::uint64_t>(load_.options_.pause_max.count() + 1)));
      }
    }
  }

 private:
  struct Line {
    std::optional<HttpConnection> connection;
    std::uint16_t port = 0;
  };

  bool chance(std::uint64_t percent) { return random_() % 100 < percent; }

  std::size_t choose() {
    if (chance(25)) {
      if (auto recent = load_.ledger_.pick_recent(random_)) return *recent;
    }
    std::string name = std::to_string(number_) + "-" + std::to_string(++opened_);
    std::string key = load_.options_.keys + "-campaign-key-" + name;
    return load_.ledger_.open(key, chance(50) ? "/orders" : "/waiting",
                              "{\"order\":\"" + name + "\"}");
  }

  // Most work is quick and succeeds. Some of it is slow enough to be hit by a kill, some fails with
  // proof, some leaves no answer, some is refused for good.
  std::string behaviour() {
    std::uint64_t draw = random_() % 100;
    if (draw < 5) return "status=503";
    if (draw < 8) return "status=500 outcome=not-executed";
    if (draw < 10) return "reset-unanswered";
    if (draw < 12) return "cut-body size=3000";
    if (draw < 30) return "delay=" + std::to_string(random_() % 30);
    if (draw < 35) return "binary size=" + std::to_string(random_() % 50'000);
    if (draw < 38) return "status=402";
    return "";
  }

  HttpRequest request_of(const Operation& operation) {
    HttpRequest request = operation.request();
    std::string words = behaviour();
    if (!words.empty()) request.with(std::string(behaviour_header), words);
    return request;
  }

  void send(std::size_t gateway, const HttpRequest& request) {
    Line& line = lines_[gateway];
    std::uint16_t port = load_.ports_[gateway];
    if (!line.connection || line.port != port) {
      line.connection.emplace(port);
      line.port = port;
    }
    line.connection->send(request.bytes());
  }

  HttpResponse receive(std::size_t gateway, const Operation& operation, Clock::time_point since) {
    Line& line = lines_[gateway];
    HttpResponse response = line.connection->receive();
    if (response.status == 0 || response.has_token("Connection", "close")) line.connection.reset();
    load_.note(std::chrono::duration_cast<Milliseconds>(Clock::now() - since), response, operation);
    return response;
  }

  HttpResponse exchange(std::size_t gateway, std::size_t number, const HttpRequest& request,
                        const Operation& operation) {
    load_.count_sent(number);
    Clock::time_point since = Clock::now();
    send(gateway, request);
    return receive(gateway, operation, since);
  }

  // True when there is nothing more to be learnt now.
  bool take(std::size_t number, const Operation& operation, const HttpResponse& response) {
    if (is_final(response)) {
      std::string wrong = load_.ledger_.acknowledge(number, response);
      if (!wrong.empty()) load_.complain(Finding::Kind::loss, operation.key, wrong);
      return true;
    }
    if (response.status == 422) {
      // With a store that forgets, a changed body may have taken the key.
      load_.complain(Finding::Kind::loss, operation.key,
                     "422 for an unchanged body, key " + operation.key);
    }
    if (response.status == 409 && json_text(response.body, "/code") == "outcome_unknown") {
      load_.ledger_.told_unknown(number);
      return true;
    }
    return false;
  }

  void send_until_answered(std::size_t number) {
    Operation operation = load_.ledger_.at(number);
    for (int attempt = 0; attempt < 3 && !load_.stopping_; ++attempt) {
      std::size_t gateway = random_() % lines_.size();
      std::uint16_t port = load_.ports_[gateway];
      HttpResponse response = exchange(gateway, number, request_of(operation), operation);
      if (take(number, operation, response)) return;
      if (response.status == 0) {
        load_.wait_for_gateway(gateway, port);
      } else if (response.status == 503 && lines_.size() > 1) {
        let_time_pass(refused_pause);
      } else {
        return;  // told to wait, or failed: a later duplicate asks again
      }
      if (chance(20)) return;  // a client that gives up; the end asks for its key
    }
  }

  // The same request at every gateway at the same moment: one execution at most.
  void send_to_all(std::size_t number) {
    Operation operation = load_.ledger_.at(number);
    HttpRequest request = request_of(operation);
    Clock::time_point since = Clock::now();
    for (std::size_t gateway = 0; gateway < lines_.size(); ++gateway) {
      load_.count_sent(number);
      send(gateway, request);
    }
    int first_answers = 0;
    for (std::size_t gateway = 0; gateway < lines_.size(); ++gateway) {
      HttpResponse response = receive(gateway, operation, since);
      take(number, operation, response);
      bool replayed = response.header("Idempotency-Replayed") == "true";
      if (is_final(response) && !replayed) ++first_answers;
    }
    if (first_answers > 1) {
      load_.complain(Finding::Kind::loss, operation.key,
                     "two gateways executed key " + operation.key);
    }
  }

  // The same key with another body, after the first was certainly seen: refused in every state.
  void send_changed(std::size_t number) {
    Operation operation = load_.ledger_.at(number);
    if (!operation.answer) return;
    operation.body = "{\"changed\":true}";
    std::size_t gateway = random_() % lines_.size();
    HttpResponse response = exchange(gateway, number, request_of(operation), operation);
    if (response.status == 0 || response.status == 422) return;
    if (json_text(response.body, "/code") == "store_unavailable") return;
    load_.complain(Finding::Kind::loss, operation.key,
                   "a changed body was answered " + std::to_string(response.status) + ", key " +
                       operation.key);
  }

  Load& load_;
  std::mt19937_64 random_;
  int number_;
  std::uint64_t opened_ = 0;
  std::vector<Line> lines_;
};

Load::Load(Ledger& ledger, LoadOptions options)
    : ledger_(ledger), options_(std::move(options)), ports_(options_.gateways) {
  for (int number = 0; number < options_.clients; ++number) {
    threads_.emplace_back([this, number] {
      wait_for_gateway(0, 0);
      Client(*this, number).run();
    });
  }
}

void Load::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::point_at(std::size_t gateway, std::uint16_t port) {
  ports_[gateway] = port;
}

void Load::complain(Finding::Kind kind, const std::string& key, std::string what) {
  std::lock_guard lock(mutex_);
  findings_.push_back({kind, key, std::move(what)});
}

LoadFigures Load::figures() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

std::vector<Finding> Load::findings() const {
  std::lock_guard lock(mutex_);
  return findings_;
}

void Load::count_sent(std::size_t number) {
  bool before = ledger_.sent(number);
  std::lock_guard lock(mutex_);
  ++figures_.requests;
  if (before) ++figures_.duplicates;
}

void Load::note(Milliseconds took, const HttpResponse& response, const Operation& operation) {
  std::lock_guard lock(mutex_);
  if (response.status == 0) ++figures_.connections_lost;
  if (response.status == 503) ++figures_.refused;
  figures_.slowest = std::max(figures_.slowest, took);
  if (took >= patience) {
    findings_.push_back({Finding::Kind::fault, operation.key,
                         "key " + operation.key + " was not answered within " +
                             std::to_string(patience.count()) + " ms"});
  }
}

bool Load::any_other(std::size_t gateway, std::uint16_t lost_port) const {
  for (std::size_t other = 0; other < ports_.size(); ++other) {
    if (ports_[other] != 0 && (other != gateway || ports_[other] != lost_port)) return true;
  }
  return false;
}

// A lost connection may also be the gateway's own doing, so this does not insist on a new port.
void Load::wait_for_gateway(std::size_t gateway, std::uint16_t lost_port) {
  eventually([&] { return stopping_ || any_other(gateway, lost_port); }, Milliseconds(2000));
}

}  // namespace oncekey::test
