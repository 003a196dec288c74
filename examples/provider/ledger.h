// The provider's book: every charge and refund, the answer each idempotency key got, and the
// webhooks still to be sent. What one request changes is one transaction, so a kill leaves all of
// it or none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace provider {

struct Entry {
  std::int64_t number = 0;  // in order; 0: not entered yet
  std::string id;           // ch_… or re_…
  std::string kind;         // charge | refund
  std::string status;       // succeeded | declined
  std::string key;          // ""; the request had none
  std::string charge;       // refunds: of which charge
  std::int64_t amount = 0;  // in the currency's smallest unit; refunds are negative
  std::string currency;
  std::string reference;  // the caller's own name for it
  std::string metadata;   // JSON object
  std::int64_t created_ms = 0;
};

struct KeptAnswer {
  std::string request;  // what was asked, to tell a retry from another request
  int status = 0;
  std::string body;
};

struct Webhook {
  std::int64_t number = 0;
  std::string url;
  std::string secret;
  std::string payload;
  std::int64_t due_ms = 0;
  int attempts = 0;
  int deliveries_left = 1;  // 2: the receiver gets it twice

  std::string id() const;  // msg_…, the same in every attempt
};

struct Summary {
  std::map<std::string, std::int64_t> sum;  // by currency
  std::int64_t charges = 0;
  std::int64_t refunds = 0;
  std::int64_t declined = 0;
  std::map<std::string, std::int64_t> charges_per_key;
  std::map<std::string, std::int64_t> charges_per_reference;
};

// Where and how often a request's webhook goes.
struct Notice {
  std::string url;
  std::string secret;
  std::int64_t delay_ms = 0;
  int deliveries = 1;  // 0: lost
};

class Ledger {
 public:
  explicit Ledger(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::optional<Entry> find(const std::string& id);
  std::optional<Entry> find_by_key(const std::string& kind, const std::string& key);
  std::int64_t refundable(const std::string& charge);  // what is left of it
  std::vector<Entry> list(std::int64_t after, int limit, bool with_declined);
  Summary summary();

  std::optional<KeptAnswer> answer_to(const std::string& key);
  // True once for each key, also across restarts.
  bool is_first_try(const std::string& key);

  // Numbers the entry, then writes it, the answer and the webhook in one transaction. `answer` and
  // `payload` are made from the numbered entry.
  struct Writing {
    std::string request;
    std::function<KeptAnswer(const Entry&)> answer;
    std::function<std::string(const Entry&)> payload;
    Notice notice;
  };
  KeptAnswer enter(Entry entry, const Writing& writing);

  // --- webhooks ---
  std::vector<Webhook> webhooks_due(std::int64_t now_ms, int limit);
  std::optional<std::int64_t> next_webhook_ms();
  void webhook_delivered(const Webhook& webhook, std::int64_t now_ms);
  void webhook_failed(const Webhook& webhook, std::int64_t due_again_ms);
  std::map<std::string, std::int64_t> webhook_counts();  // waiting | delivered

 private:
  std::mutex mutex_;
  sqlite3* database_ = nullptr;
};

}  // namespace provider
