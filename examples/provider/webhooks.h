// Sends the ledger's webhooks, signed as https://www.standardwebhooks.com says, again and again
// until the receiver answers 2xx.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "ledger.h"

namespace httplib {
class Client;
}

namespace provider {

std::int64_t now_ms();

// "v1,BASE64": HMAC-SHA256 of "ID.TIMESTAMP.BODY" under the bytes that follow whsec_ in the secret.
std::string signature_of(std::string_view secret, std::string_view id, std::string_view timestamp,
                         std::string_view body);
bool is_secret(std::string_view text);  // whsec_ and base64

class WebhookSender {
 public:
  // The pauses double from `backoff` up to a hundred times as much, without jitter: a run can be
  // repeated.
  WebhookSender(Ledger& ledger, std::chrono::milliseconds backoff);
  ~WebhookSender();

  void wake();  // there may be something to send

 private:
  void run();
  bool deliver(const Webhook& webhook);
  bool pause();  // false: stop

  Ledger& ledger_;
  const std::chrono::milliseconds backoff_;
  std::map<std::string, std::unique_ptr<httplib::Client>> clients_;  // by scheme, host and port
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace provider
