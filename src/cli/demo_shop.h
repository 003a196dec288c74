// What the demo's sample upstream does for a living: orders and payments, kept in memory. It makes
// a new one whenever it is asked to, key or not, so that a request that ran twice shows.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oncekey::cli {

enum class Trade { order, payment };

struct Sale {
  std::string id;
  std::string path;  // /orders/ID
  std::string key;   // the Idempotency-Key it came with; "": none
  std::string json;
};

struct SaleRequest {
  Trade trade = Trade::order;
  std::string key;
  int attempt = 0;     // as the gateway numbers it; 0: not said
  std::string status;  // "created", "declined"
  std::string body;    // a JSON object
};

// Thread-safe.
class DemoShop {
 public:
  // `run` is part of every id, so that no two runs share one.
  explicit DemoShop(std::string run) : run_(std::move(run)) {}

  Sale make(const SaleRequest& request);
  std::optional<Sale> find(Trade trade, std::string_view id) const;
  // {"count":N,"orders":[...]}, of one key when `key` is given.
  std::string list_json(Trade trade, const std::optional<std::string>& key) const;
  std::string executions_json() const;  // {"KEY":N,...}

  // Until a request with this key has been executed; false when that takes longer than `limit`.
  bool wait_for_execution(const std::string& key, std::chrono::milliseconds limit) const;

 private:
  const std::vector<Sale>& sales(Trade trade) const {
    return trade == Trade::order ? orders_ : payments_;
  }

  const std::string run_;
  mutable std::mutex mutex_;
  mutable std::condition_variable executed_;
  std::vector<Sale> orders_;
  std::vector<Sale> payments_;
  std::map<std::string, int> executions_;
};

}  // namespace oncekey::cli
