// Sends finished requests' spans to an OTLP collector, from a thread of its own. A collector that
// is slow or away costs spans, never a request: what does not fit is dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gateway/otlp_json.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/task.h"

namespace oncekey::gateway {

struct SpanExporterOptions {
  std::string url;    // http://host[:port]/v1/traces
  int percent = 100;  // of the traces that begin here; others say themselves whether they are kept
  std::string instance;
  std::size_t waiting_max = 8'192;
  std::size_t batch_max = 512;
  http::SteadyMs every_ms = 1'000;
  http::SteadyMs timeout_ms = 5'000;
};

class SpanExporter {
 public:
  // Throws std::runtime_error when the URL cannot be used.
  explicit SpanExporter(SpanExporterOptions options);
  ~SpanExporter();  // sends what waits, within one timeout

  int percent() const { return options_.percent; }
  void add(RequestSpan span);  // any thread

  void append_metrics(std::string& out) const;

 private:
  http::Task<void> run();
  http::Task<void> send_all();
  std::vector<RequestSpan> take_batch();

  SpanExporterOptions options_;
  std::atomic<std::uint64_t> exported_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;
  std::deque<RequestSpan> waiting_;
  std::atomic<bool> stopping_{false};
  http::Loop loop_;
  std::unique_ptr<http::Client> client_;
  std::thread thread_;
};

}  // namespace oncekey::gateway
