// Asks: sends GET requests, several at once, and waits for their answers. A thread and a loop of
// its own, so that no request of a client ever waits for a probe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/client.h"
#include "http/loop.h"
#include "oncekey/record.h"
#include "recovery/probe.h"

namespace oncekey::recovery {

struct ProbeRequest {
  std::string url;     // http://host[:port]/path[?query]
  std::string fields;  // lines, each ended by CRLF
  DurationMs timeout_ms = 10'000;
  std::size_t response_limit = 1 << 20;
  http::ClientTlsOptions tls;
};

// The question that a record's rules ask about it.
ProbeRequest probe_request(const ProbeRules& rules, const RecordId& id);

class Prober {
 public:
  Prober();
  ~Prober();  // after the last ask() has returned

  // All at the same time, each within its timeout. One thread at a time.
  std::vector<ProbeAnswer> ask(const std::vector<ProbeRequest>& requests);

  // From any thread: requests under way, and all later ones, end without an answer.
  void stop();

 private:
  struct Round;

  http::Task<void> ask_one(const ProbeRequest& request, ProbeAnswer& answer, Round& round);
  // Null, and why, when its TLS files cannot be used.
  http::Client* client_of(const ProbeRequest& request, const http::Destination& destination,
                          std::string& error);

  // Only on the loop's thread. Kept, with their connections: there are as many as configured hosts.
  std::map<std::string, std::unique_ptr<http::Client>> clients_;
  bool stopping_ = false;

  http::Loop loop_;
  std::thread thread_;
};

}  // namespace oncekey::recovery
