#include "admin/worker_server.h"

#include "boundary/json_writer.h"

namespace oncekey::admin {

namespace {

http::Task<void> send(http::Exchange& exchange, int status, std::string_view type,
                      std::string_view body) {
  http::ResponseStart start;
  start.status = status;
  start.add("Content-Type", type);
  start.add("Cache-Control", "no-store");
  co_await exchange.respond(start, body);
}

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

WorkerServer::WorkerServer(const outbox::WorkerFigures& figures, const std::string& listen,
                           std::function<std::string()> more_metrics)
    : figures_(figures),
      more_metrics_(std::move(more_metrics)),
      server_(loop_, *this, "worker.admin", listen) {}

http::Task<void> WorkerServer::handle(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head();
  int status = 200;
  std::string_view type = "application/json";
  std::string body;
  if (head.method != "GET" && head.method != "HEAD") {
    status = 405;
    body = status_body("refused", "Only GET and HEAD are answered.");
  } else if (head.path == "/healthz" || head.path == "/livez") {
    body = status_body("ok", "");
  } else if (head.path == "/readyz") {
    std::string_view reason;
    if (!figures_.queue_good) reason = "the outbox's database does not answer";
    if (figures_.draining) reason = "shutting down";
    status = reason.empty() ? 200 : 503;
    body = status_body(reason.empty() ? "ready" : "unavailable", reason);
  } else if (head.path == "/metrics") {
    type = "text/plain; version=0.0.4; charset=utf-8";
    body = worker_metrics_text(figures_);
    if (more_metrics_) body += more_metrics_();
  } else {
    status = 404;
    body = status_body("not found", "Known: /healthz /livez /readyz /metrics");
  }
  co_await send(exchange, status, type, body);
}

http::Task<void> WorkerServer::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  std::string body = status_body("refused", refusal.reason);
  co_await send(exchange, refusal.status, "application/json", body);
}

}  // namespace oncekey::admin
