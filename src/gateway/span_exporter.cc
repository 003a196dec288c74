#include "gateway/span_exporter.h"

#include <stdexcept>

#include "gateway/metric_text.h"
#include "http/sleep.h"

namespace oncekey::gateway {
namespace {

constexpr http::SteadyMs look_every_ms = 50;  // how soon the end is noticed

}  // namespace

SpanExporter::SpanExporter(SpanExporterOptions options) : options_(std::move(options)) {
  auto destination = http::parse_destination(options_.url);
  if (!destination) throw std::runtime_error("traces.otlp: " + destination.error());
  http::ClientOptions client;
  client.timeout_ms = options_.timeout_ms;
  client_ = std::make_unique<http::Client>(loop_, std::move(*destination), client);
  thread_ = std::thread([this] {
    http::spawn(run());
    loop_.run();
  });
}

SpanExporter::~SpanExporter() {
  stopping_ = true;
  thread_.join();
}

void SpanExporter::add(RequestSpan span) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= options_.waiting_max) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(span));
}

void SpanExporter::append_metrics(std::string& out) const {
  append_figure(out, "oncekey_spans_exported_total", "counter",
                "Requests whose spans the collector has taken", exported_);
  append_figure(out, "oncekey_spans_dropped_total", "counter",
                "Requests whose spans were lost: the collector was away or too slow", dropped_);
}

std::vector<RequestSpan> SpanExporter::take_batch() {
  std::lock_guard lock(mutex_);
  std::vector<RequestSpan> batch;
  while (!waiting_.empty() && batch.size() < options_.batch_max) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

http::Task<void> SpanExporter::run() {
  while (!stopping_) {
    const http::SteadyMs next = loop_.now() + options_.every_ms;
    while (!stopping_ && loop_.now() < next) {
      http::Sleep pause(loop_, look_every_ms);
      co_await pause;
    }
    co_await send_all();
  }
  client_.reset();
  loop_.stop();
}

http::Task<void> SpanExporter::send_all() {
  for (std::vector<RequestSpan> batch = take_batch(); !batch.empty(); batch = take_batch()) {
    const std::string body = otlp_json(batch, options_.instance);
    http::ClientRequest request;
    request.method = "POST";
    request.fields = "Content-Type: application/json\r\n";
    request.body = body;
    http::ClientOutcome outcome = co_await client_->send(request);
    auto* const answered = std::get_if<http::Answered>(&outcome);
    if (answered && answered->status >= 200 && answered->status < 300) {
      exported_ += batch.size();
      continue;
    }
    dropped_ += batch.size();
    co_return;  // the next try is a moment away, and so are the spans that wait
  }
}

}  // namespace oncekey::gateway
