#include "support/provider_process.h"

#include <signal.h>

#include <stdexcept>

#include "support/json_text.h"

namespace oncekey::test {

ProviderProcess::ProviderProcess(std::vector<std::string> flags) : flags_(std::move(flags)) {
  start();
}

void ProviderProcess::start() {
  std::vector<std::string> words = {ONCEKEY_PROVIDER_PATH, "--listen",
                                    "127.0.0.1:" + std::to_string(port_), "--ledger",
                                    (folder_.path() / "ledger.db").string()};
  words.insert(words.end(), flags_.begin(), flags_.end());
  process_ = std::make_unique<Process>(words);
  const auto line = process_->wait_for_line(
      [](const std::string& text) { return json_text(text, "/event") == "listening"; });
  if (!line) throw std::runtime_error("the provider does not listen:\n" + process_->output());
  port_ = static_cast<std::uint16_t>(std::stoi(json_text(*line, "/port")));
}

void ProviderProcess::kill() {
  process_->signal(SIGKILL);
  process_->wait();
}

HttpRequest ProviderProcess::charge(const std::string& key, const std::string& fault,
                                    const std::string& body) {
  HttpRequest request{.target = "/charges", .body = body};
  if (body.empty()) {
    request.body = "{\"amount\":100,\"currency\":\"EUR\",\"reference\":\"" + key + "\"}";
  }
  request.with("Content-Type", "application/json");
  if (!key.empty()) request.with("Idempotency-Key", key);
  if (!fault.empty()) request.with("X-Fault", fault);
  return request;
}

HttpResponse ProviderProcess::get(const std::string& target) const {
  return exchange(port_, HttpRequest{.method = "GET", .target = target});
}

std::int64_t ProviderProcess::total(const std::string& pointer) const {
  const std::string text = json_text(get("/ledger/summary").body, pointer);
  return text.empty() ? 0 : std::stoll(text);
}

}  // namespace oncekey::test
