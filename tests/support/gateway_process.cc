#include "support/gateway_process.h"

#include <signal.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

std::uint16_t port_of(const std::string& address) {
  std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("not an address: " + address);
  return static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
}

}  // namespace

std::string oncekey_binary() {
  const char* chosen = std::getenv("ONCEKEY_BINARY");
  return chosen != nullptr ? chosen : ONCEKEY_BINARY_PATH;
}

GatewayProcess::GatewayProcess(Options options) : options_(std::move(options)) {
  if (options_.store.empty()) options_.store = "rocksdb:" + (folder_.path() / "data").string();
  start();
}

void GatewayProcess::start() {
  std::string config = folder_.write("oncekey.toml", options_.toml);
  std::vector<std::string> words = {oncekey_binary(), "serve", "--config", config};
  if (!options_.whole_file) {
    words.insert(words.end(), {"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--to",
                               options_.upstream, "--store", options_.store});
  }
  words.insert(words.begin(), options_.launcher.begin(), options_.launcher.end());
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  process_ = std::make_unique<Process>(words);
  auto line = process_->wait_for_line(
      [](const std::string& text) { return json_text(text, "/event") == "listening"; });
  if (!line) throw std::runtime_error("the gateway does not listen:\n" + process_->output());
  port_ = port_of(json_text(*line, "/listen"));
  admin_port_ = port_of(json_text(*line, "/admin"));
  await_ready();
}

void GatewayProcess::await_ready() {
  if (!eventually([this] { return admin("/readyz").status == 200; })) {
    throw std::runtime_error("the gateway does not become ready:\n" + process_->output());
  }
}

void GatewayProcess::kill() {
  process_->signal(SIGKILL);
  process_->wait();
}

std::optional<int> GatewayProcess::stop() {
  process_->signal(SIGTERM);
  return process_->wait();
}

HttpResponse GatewayProcess::admin(const std::string& target) const {
  HttpRequest request{.method = "GET", .target = target};
  request.with("Host", "127.0.0.1");  // a name of others is refused there
  return exchange(admin_port_, request);
}

double GatewayProcess::metric(const std::string& name, const std::string& labels) const {
  std::istringstream text(admin("/metrics").body);
  double sum = 0;
  for (std::string line; std::getline(text, line);) {
    bool named = line.starts_with(name) && (line[name.size()] == '{' || line[name.size()] == ' ');
    if (named && line.find(labels) != std::string::npos) {
      sum += std::stod(line.substr(line.rfind(' ')));
    }
  }
  return sum;
}

std::string GatewayProcess::log_line(const std::string& pointer, const std::string& value) const {
  return process_
      ->wait_for_line([&](const std::string& line) { return json_text(line, pointer) == value; })
      .value_or("");
}

}  // namespace oncekey::test
