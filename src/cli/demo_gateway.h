// The demo's gateway: the real service on the embedded store, with the settings of `oncekey serve`
// without a configuration file.
#pragma once

#include <memory>
#include <string>

#include "admin/admin_server.h"
#include "gateway/log.h"
#include "gateway/service.h"

namespace oncekey::cli {

struct DemoPlaces {
  std::string folder;       // store and log
  std::string listen;       // host:port, 0 for a free one
  std::string admin;        // host:port
  std::string upstream;     // http://host:port
  std::string routes = {};  // [[route]] blocks; "": the default one
};

class DemoGateway {
 public:
  // Throws std::runtime_error with a sentence for people, for example when a port is taken.
  explicit DemoGateway(const DemoPlaces& places);
  ~DemoGateway();

  std::string address() const { return service_->address(); }
  std::string admin_address() const { return admin_->address(); }

  std::string log_path() const { return log_path_; }
  void show_log();  // from now on, on standard error

  // Lets requests finish for a moment. False: some did not, and nothing may be destroyed.
  bool drain();

 private:
  std::string log_path_;
  int log_fd_ = -1;
  std::unique_ptr<gateway::Log> log_;
  std::unique_ptr<gateway::Service> service_;
  std::unique_ptr<admin::AdminServer> admin_;
};

}  // namespace oncekey::cli
