#include "admin/worker_server.h"

#include <chrono>
#include <thread>

#include "admin/node_api.h"
#include "admin/status_api.h"
#include "admin/unknown_outcomes.h"
#include "boundary/json_writer.h"
#include "gateway/context.h"

namespace oncekey::admin {

namespace {

std::string status_body(std::string_view status, std::string_view reason) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("status", status);
  if (!reason.empty()) json.member("reason", reason);
  json.end_object();
  body.push_back('\n');
  return body;
}

void append_figure(std::string& out, std::string_view name, std::string_view type,
                   std::string_view help, const std::string& value) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out.append(" ").append(type).append("\n").append(name).append(" ").append(value).append("\n");
}

}  // namespace

std::string worker_metrics_text(const outbox::WorkerFigures& figures) {
  std::string out;
  auto total = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    append_figure(out, name, "counter", help, std::to_string(value));
  };
  auto gauge = [&](std::string_view name, std::string_view help, const std::string& value) {
    append_figure(out, name, "gauge", help, value);
  };
  gauge("oncekey_outbox_depth", "Messages that are not delivered and not dead",
        std::to_string(figures.waiting));
  gauge("oncekey_outbox_dead_letters", "Messages that were given up",
        std::to_string(figures.dead_letters));
  const std::uint64_t age_ms = figures.oldest_age_ms;
  gauge("oncekey_outbox_oldest_age_seconds", "Age of the oldest message that waits",
        std::to_string(static_cast<double>(age_ms) / 1000));
  gauge("oncekey_worker_held", "Messages this worker has claimed and not recorded",
        std::to_string(figures.held));
  gauge("oncekey_worker_queue_up", "1: the database answered the last time",
        figures.queue_good ? "1" : "0");
  total("oncekey_worker_claimed_total", "Messages claimed", figures.claimed);
  total("oncekey_worker_delivered_total", "Messages delivered", figures.delivered);
  total("oncekey_worker_retried_total", "Attempts that failed and will be repeated",
        figures.retried);
  total("oncekey_worker_dead_total", "Messages given up", figures.dead);
  total("oncekey_worker_released_total", "Messages put back untried", figures.released);
  total("oncekey_worker_takeovers_total", "Messages whose earlier claim had run out",
        figures.taken_over);
  total("oncekey_worker_claims_lost_total", "Outcomes that came after the claim had run out",
        figures.lost);
  total("oncekey_worker_records_total", "Commits that recorded outcomes", figures.records);
  total("oncekey_worker_queue_errors_total", "Operations on the database that failed",
        figures.queue_errors);
  total("oncekey_worker_reaped_total", "Delivered messages removed after their retention",
        figures.reaped);
  return out;
}

WorkerServer::WorkerServer(Parts parts, const PortOptions& options)
    : parts_(std::move(parts)),
      started_at_(gateway::wall_now_ms()),
      audit_(audit_file_of(parts_.config, parts_.config.worker.database), gateway::wall_now_ms),
      keys_(parts_.records),
      key_changes_(parts_.records, Journal(audit_, parts_.log)),
      outbox_(parts_.config.worker.database, Journal(audit_, parts_.log), parts_.wake),
      events_(loop_, parts_.log.feed()),
      handler_(loop_, guard_of(parts_.config, parts_.config.worker.admin, options, parts_.log),
               endpoints()) {
  server_.emplace(loop_, handler_, "worker.admin", parts_.config.worker.admin);
}

WorkerServer::~WorkerServer() {
  key_changes_.stop();
  events_.close();
  handler_.close();
  while (handler_.under_way() + events_.under_way() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  server_.reset();
}

std::vector<Endpoint> WorkerServer::endpoints() {
  const auto alive = [this](http::Exchange& exchange, const Call&) { return live(exchange); };
  std::vector<Endpoint> all = {
      {"GET", "/livez", Access::open, "livez", "The process is alive.", {}, "Health", alive},
      {"GET", "/healthz", Access::open, "healthz", "The same as /livez.", {}, "Health", alive},
      {"GET",
       "/readyz",
       Access::open,
       "readyz",
       "Messages can be delivered; 503: not now.",
       {},
       "Health",
       [this](http::Exchange& exchange, const Call&) { return ready(exchange); }},
      {"GET",
       "/metrics",
       Access::open,
       "metrics",
       "Figures in Prometheus's text format.",
       {},
       "",
       [this](http::Exchange& exchange, const Call&) { return metrics(exchange); }},
      {"GET",
       "/v1/status",
       Access::read,
       "showStatus",
       "How the worker is.",
       {},
       "WorkerStatus",
       [this](const Call&) { return status(); }},
  };
  const auto add = [&all](std::vector<Endpoint> more) {
    for (Endpoint& endpoint : more) all.push_back(std::move(endpoint));
  };
  add(outbox_.endpoints());
  add(keys_.endpoints());
  add(key_changes_.endpoints());
  add(events_.endpoints());
  all.push_back(settings_endpoint([this]() -> const gateway::Config& { return parts_.config; }));
  all.push_back(audit_endpoint(audit_));
  all.push_back(openapi_endpoint(all, "Oncekey worker's admin API"));
  return all;
}

http::Task<void> WorkerServer::live(http::Exchange& exchange) {
  Reply reply;
  reply.body = status_body("ok", "");
  co_await send(exchange, reply);
}

http::Task<void> WorkerServer::ready(http::Exchange& exchange) {
  std::string_view reason;
  if (!parts_.figures.queue_good) reason = "the outbox's database does not answer";
  if (parts_.figures.draining) reason = "shutting down";
  Reply reply;
  reply.body = status_body(reason.empty() ? "ready" : "unavailable", reason);
  if (!reason.empty()) reply.status = 503;
  co_await send(exchange, reply);
}

http::Task<void> WorkerServer::metrics(http::Exchange& exchange) {
  Reply reply;
  reply.type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = worker_metrics_text(parts_.figures);
  if (parts_.more_metrics) reply.body += parts_.more_metrics();
  co_await send(exchange, reply);
}

Reply WorkerServer::status() const {
  const outbox::WorkerFigures& figures = parts_.figures;
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  write_process(json, started_at_, gateway::wall_now_ms());
  json.member("draining", figures.draining.load());
  json.key("outbox");
  json.begin_object();
  json.member("database_answers", figures.queue_good.load());
  json.member("waiting", figures.waiting.load());
  json.member("dead_letters", figures.dead_letters.load());
  json.member("oldest_age_ms", figures.oldest_age_ms.load());
  json.member("held", figures.held.load());
  json.end_object();
  json.key("unknown");
  json.begin_object();
  write_unknown_outcomes(json, parts_.records.committer, std::nullopt);
  json.end_object();
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

}  // namespace oncekey::admin
