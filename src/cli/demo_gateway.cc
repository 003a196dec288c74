#include "cli/demo_gateway.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "gateway/config_file.h"
#include "gateway/secret.h"
#include "store/open.h"

namespace oncekey::cli {
namespace {

// Whoever presses Ctrl-C here does not wait for a request that was told never to end.
constexpr DurationMs grace_ms = 1'000;

gateway::Config demo_config(const DemoPlaces& places) {
  gateway::ConfigDraft draft;
  gateway::read_config_text(draft, places.routes, "demo");
  draft.config.listen = places.listen;
  draft.config.admin = places.admin;
  draft.config.upstream = places.upstream;
  draft.config.store = "rocksdb:" + places.folder + "/store";
  draft.config.log_format = gateway::LogFormat::text;
  auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::required);
  if (!loaded) throw std::runtime_error(to_string(loaded.error().front()));
  return loaded->config;
}

std::string demo_secret(const gateway::Config& config) {
  gateway::SecretSources sources;
  sources.folder = gateway::store_folder(config.store);
  auto secret = gateway::obtain_secret(sources, gateway::system_random);
  if (!secret) throw std::runtime_error(secret.error().message);
  return secret->bytes;
}

}  // namespace

DemoGateway::DemoGateway(const DemoPlaces& places) : log_path_(places.folder + "/gateway.log") {
  log_fd_ = ::open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd_ < 0) throw std::runtime_error("cannot write " + log_path_);
  const gateway::Config config = demo_config(places);
  log_ = std::make_unique<gateway::Log>(config.log_format, config.log_level, log_fd_);
  const std::string secret = demo_secret(config);
  const auto url = store::parse_store_url(config.store);
  auto store = store::open_store(*url, {.clock = gateway::wall_now_ms});
  if (!store) throw std::runtime_error(store.error());
  service_ = std::make_unique<gateway::Service>(config, secret, std::move(*store), *log_);
  admin_ = std::make_unique<admin::AdminServer>(*service_, *log_, admin::PortOptions{});
  service_->start();  // last: from here on it has clients, and must be drained before it goes
}

DemoGateway::~DemoGateway() {
  admin_.reset();
  service_.reset();
  if (log_fd_ >= 0) ::close(log_fd_);
}

void DemoGateway::show_log() {
  ::dup2(STDERR_FILENO, log_fd_);
}

bool DemoGateway::drain() {
  return service_->drain(grace_ms).clean;
}

}  // namespace oncekey::cli
