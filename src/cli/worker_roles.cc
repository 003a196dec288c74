#include "cli/worker_roles.h"

#include <stdexcept>

#include "gateway/context.h"
#include "gateway/encryption.h"
#include "gateway/service.h"
#include "store/store_url.h"

namespace oncekey::cli {

WorkerRoles::WorkerRoles(store::Store store) : store_(std::move(store)) {
  Engine& engine = store_.background ? *store_.background : *store_.lanes[0];
  committer_ = std::make_unique<store::Committer>(engine, gateway::wall_now_ms);
}

Result<std::unique_ptr<WorkerRoles>, std::string> WorkerRoles::start(const gateway::Config& config,
                                                                     gateway::Log& log) {
  auto url = store::parse_store_url(config.worker.database);
  if (!url) return url.error().message;
  // The service whose database it is runs at the same time.
  if (url->kind == store::StoreUrl::Kind::sqlite) url->shared_file = true;
  store::OpenOptions options;
  options.clock = gateway::wall_now_ms;
  options.timeout_ms = gateway::batch_timeout_ms(config);
  auto keyring = gateway::encryption_keyring(config);
  if (!keyring) return keyring.error();
  options.sealing = {*keyring, false, {}};
  auto store = store::open_store(*url, options);
  if (!store) return store.error();
  std::unique_ptr<WorkerRoles> roles(new WorkerRoles(std::move(*store)));
  try {
    roles->roles_ = std::make_unique<gateway::RecoveryRoles>(config, *roles->committer_, log);
  } catch (const std::runtime_error& error) {
    return std::string(error.what());
  }
  return roles;
}

admin::KeyRecords WorkerRoles::records() {
  const gateway::RecoveryRoles& roles = *roles_;
  return {*committer_,
          [&roles](const Record& record) { return roles.route_of(record); },
          [&roles](const Record& record) { return roles.probe_of(record); },
          [] { return std::string(); },
          [](const RecordId&) {},
          gateway::wall_now_ms};
}

}  // namespace oncekey::cli
