// The payment provider, as this service knows it: examples/provider, or one like it.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace payments {

// What the provider made of a charge or refund. It never changes.
struct Verdict {
  std::string status;       // succeeded, declined, or refused: nothing was made
  std::string provider_id;  // "": nothing was made
};
void to_json(nlohmann::json& json, const Verdict& verdict);
void from_json(const nlohmann::json& json, Verdict& verdict);

// Any thread.
class Provider {
 public:
  Provider(std::string url, std::chrono::milliseconds timeout)
      : url_(std::move(url)), timeout_(timeout) {}

  std::chrono::milliseconds timeout() const { return timeout_; }

  // POST to "/charges" or "/refunds". Throws oncekey::CallFailed while there is no verdict.
  Verdict make(const std::string& path, const std::string& body, const std::string& key) const;
  // What became of it, without making it. Empty: nothing yet, or no answer.
  std::optional<Verdict> find(const std::string& path, const std::string& key) const;

 private:
  std::string url_;
  std::chrono::milliseconds timeout_;
};

}  // namespace payments
