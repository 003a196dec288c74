// Takes a provider's signed webhooks and settles the records they are about (SPEC B2). A webhook is
// the provider's own word: it goes before any probe.
//
// Safe to receive twice, late, or out of order: a record that is completed never changes, and one
// that somebody is working on is left to its owner. The provider is then asked to send it again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "outbox/signature.h"
#include "recovery/webhook.h"
#include "store/committer.h"

namespace oncekey::recovery {

struct WebhookCounts {
  std::atomic<std::uint64_t> completed{0};  // settled a record
  std::atomic<std::uint64_t> settled_before{0};
  std::atomic<std::uint64_t> in_progress{0};  // left to its owner
  std::atomic<std::uint64_t> not_found{0};    // no such record: the ledger check will tell
  std::atomic<std::uint64_t> ignored{0};      // of another type
  std::atomic<std::uint64_t> refused{0};      // not signed, too old, or not readable
  std::atomic<std::uint64_t> store_errors{0};
};

struct WebhookReply {
  int status = 200;
  DurationMs retry_after_ms = 0;  // 503 only
  std::string_view what;          // for the sender and for logs: a fixed word or two
};

class WebhookReceiver {
 public:
  struct Parts {
    store::Committer& committer;
    WebhookRules rules;
    std::vector<outbox::WebhookSecret> secrets;  // any of them; at least one
    std::int64_t tolerance_s = outbox::webhook_tolerance_s;
    std::function<TimestampMs()> clock;
  };
  // Open records that are searched for a derived key: it does not say what it was derived from.
  static constexpr std::size_t derived_search_max = 100'000;

  explicit WebhookReceiver(Parts parts) : parts_(std::move(parts)) {}

  // Waits for the store. One thread at a time.
  WebhookReply receive(const outbox::ReceivedWebhook& received);

  const WebhookCounts& counts() const { return counts_; }

 private:
  WebhookReply settle(const RecordId& id, const WebhookEvent& event);
  bool resolve(const Record& record, const WebhookEvent& event);
  bool take_back(const Record& record, const WebhookEvent& event);
  // Nothing: the store did not answer.
  std::optional<std::optional<Record>> get(const RecordId& id);
  std::optional<std::optional<RecordId>> find_derived(const std::string& derived);
  WebhookReply unavailable();

  Parts parts_;
  WebhookCounts counts_;
};

}  // namespace oncekey::recovery
