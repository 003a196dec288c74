// The background roles of `oncekey worker`, on the same database as its outbox: sweeper, reaper,
// reconciler, ledger check and webhooks.
#pragma once

#include <memory>
#include <string>

#include "admin/key_records.h"
#include "gateway/config.h"
#include "gateway/log.h"
#include "gateway/recovery_roles.h"
#include "oncekey/result.h"
#include "store/committer.h"
#include "store/open.h"

namespace oncekey::cli {

class WorkerRoles {
 public:
  // Opens the database's records beside whatever else uses them, and starts. `config` and `log`
  // outlive it. The error is a sentence for operators.
  static Result<std::unique_ptr<WorkerRoles>, std::string> start(const gateway::Config& config,
                                                                 gateway::Log& log);

  std::string webhook_address() const { return roles_->webhook_address(); }  // "": none
  std::string metrics_text() const { return roles_->metrics_text(); }        // any thread
  // For operators; valid as long as this object.
  admin::KeyRecords records();

 private:
  explicit WorkerRoles(store::Store store);

  store::Store store_;
  std::unique_ptr<store::Committer> committer_;
  std::unique_ptr<gateway::RecoveryRoles> roles_;  // ends first
};

}  // namespace oncekey::cli
