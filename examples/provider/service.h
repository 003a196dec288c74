// The provider's API: charges, refunds, the ledger for those who check it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "faults.h"
#include "ledger.h"
#include "webhooks.h"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace provider {

struct ServiceOptions {
  std::string webhook_url;  // "": none, unless a request brings its own
  std::string webhook_secret;
  std::optional<RandomFaults> random_faults;
  std::chrono::milliseconds hang_max{600'000};  // how long "never answers" lasts
};

class Service {
 public:
  Service(Ledger& ledger, WebhookSender& webhooks, ServiceOptions options)
      : ledger_(ledger), webhooks_(webhooks), options_(std::move(options)) {}

  void add_routes(httplib::Server& server);
  void stop() { stopping_ = true; }  // requests that hang are let go

 private:
  struct Post;  // one POST under way

  void charge(const httplib::Request& request, httplib::Response& response);
  void refund(const httplib::Request& request, httplib::Response& response);
  void find_by_key(const std::string& kind, const httplib::Request& request,
                   httplib::Response& response);
  void list(const httplib::Request& request, httplib::Response& response);
  void summarise(const httplib::Request& request, httplib::Response& response);

  // What every POST shares: faults, one at a time for each key, the same answer to every retry.
  bool read(Post& post);
  template <class Work>
  void run(Post& post, Work work);
  template <class Work>
  void begin(const Post& post, Work work);
  template <class Work>
  void work_once(Post& post, Work work);
  void enter(Post& post, Entry entry);
  void fail(const Post& post);

  bool hold(const std::string& key);
  void release(const std::string& key);
  bool is_held(const std::string& key);

  Ledger& ledger_;
  WebhookSender& webhooks_;
  const ServiceOptions options_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::set<std::string> held_keys_;  // requests with these keys are under way
  std::mutex refunding_;
};

}  // namespace provider
