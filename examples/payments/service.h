// The HTTP side: requests into runs of workflows, and their outcomes into answers.
#pragma once

#include <oncekey/boundary.h>

#include <functional>
#include <string>
#include <vector>

#include "answers.h"
#include "desk.h"
#include "outbox/signature.h"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace payments {

struct ServiceOptions {
  bool always_async = false;  // 202 for every payment and refund, not only with Prefer
  std::string secret;         // of this deployment, for fingerprints
  std::vector<oncekey::outbox::WebhookSecret> webhook_secrets;  // none: webhooks are refused
};

class Service {
 public:
  Service(Desks& desks, ServiceOptions options)
      : desks_(desks), options_(std::move(options)), fingerprinter_(options_.secret) {}

  void add_routes(httplib::Server& server);

 private:
  using Request = httplib::Request;

  Answer post_payment(const Request& request);
  Answer post_refund(const Request& request);
  // One run under the request's key, or why there is none.
  Answer run(const Request& request, oncekey::Runner Desk::*workflow, nlohmann::json input);
  Answer get_payment(const Request& request);
  Answer get_payment_by_key(const Request& request);
  Answer get_refund(const Request& request);
  Answer receive_webhook(const Request& request);

  Desks& desks_;
  ServiceOptions options_;
  oncekey::Fingerprinter fingerprinter_;
};

}  // namespace payments
