#include "service.h"

#include <httplib.h>
#include <oncekey/derived_key.h>
#include <oncekey/inbox.h>

#include <cstdio>
#include <ctime>

#include "rows.h"

namespace payments {
namespace {

using nlohmann::json;
using oncekey::DatabaseError;

constexpr std::int64_t amount_max = 1'000'000'000'000;
constexpr std::chrono::milliseconds retry_in{1000};

// Set by the proxy in front, which has checked who calls; never taken from a body.
std::string tenant_of(const httplib::Request& request) {
  const std::string tenant = request.get_header_value("X-Tenant");
  return tenant.empty() ? "default" : tenant;
}

bool is_amount(const json& body) {
  return body.contains("amount") && body["amount"].is_number_integer() && body["amount"] >= 1 &&
         body["amount"] <= amount_max;
}

bool is_object_or_absent(const json& body, const char* name) {
  return !body.contains(name) || body[name].is_object();
}

bool prefers_async(const httplib::Request& request) {
  return request.get_header_value("Prefer").find("respond-async") != std::string::npos;
}

Answer found(const json& resource) {
  Answer answer;
  answer.status = 200;
  answer.headers = {{"Content-Type", "application/json"}};
  if (resource.at("status") == "pending") answer.headers.push_back({"Retry-After", "1"});
  answer.body = resource.dump();
  return answer;
}

void send(const Answer& answer, httplib::Response& response) {
  response.status = answer.status;
  std::string type = "application/json";
  for (const oncekey::Header& header : answer.headers) {
    if (header.name == "Content-Type")
      type = header.value;
    else
      response.set_header(header.name, header.value);
  }
  response.set_content(answer.body, type);
}

}  // namespace

void Service::add_routes(httplib::Server& server) {
  const auto route = [this](Answer (Service::*serve)(const Request&)) {
    return [this, serve](const httplib::Request& request, httplib::Response& response) {
      try {
        send((this->*serve)(request), response);
      } catch (const DatabaseError& error) {
        // Nothing is lost: the same key goes on from what was committed.
        std::fprintf(stderr, "%s\n", error.what());
        send(problem(503, "database_unavailable", "The database did not answer.", retry_in),
             response);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        send(problem(500, "internal", "A mistake of this service; it is logged.", retry_in),
             response);
      }
    };
  };
  server.Post("/payments", route(&Service::post_payment));
  server.Post(R"(/payments/([^/]+)/refund)", route(&Service::post_refund));
  server.Get(R"(/payments/([^/]+))", route(&Service::get_payment));
  server.Get("/payments", route(&Service::get_payment_by_key));
  server.Get(R"(/refunds/([^/]+))", route(&Service::get_refund));
  server.Post("/webhooks", route(&Service::receive_webhook));
}

Answer Service::post_payment(const Request& request) {
  json body = json::parse(request.body, nullptr, false);
  if (!body.is_object() || !is_amount(body) || !body.contains("currency") ||
      !body["currency"].is_string() || !is_object_or_absent(body, "metadata") ||
      (body.contains("reference") && !body["reference"].is_string())) {
    return invalid(R"(Send {"amount":1250,"currency":"EUR","reference":"…","metadata":{}}; )"
                   "amount is a whole number from 1, reference and metadata may be left out.");
  }
  return run(request, &Desk::payment, std::move(body));
}

Answer Service::post_refund(const Request& request) {
  json body = request.body.empty() ? json::object() : json::parse(request.body, nullptr, false);
  if (!body.is_object() || (body.contains("amount") && !is_amount(body)) ||
      !is_object_or_absent(body, "metadata")) {
    return invalid(R"(Send {"amount":50}, or {} for all that is left.)");
  }
  body["payment"] = request.matches[1];
  return run(request, &Desk::refund, std::move(body));
}

Answer Service::run(const Request& request, oncekey::Runner Desk::*workflow, json input) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < request.get_header_value_count("Idempotency-Key"); ++i) {
    lines.push_back(request.get_header_value("Idempotency-Key", i));
  }
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  const auto key = oncekey::parse_key(views, {});
  if (!key) {
    const bool missing = key.error().reason == oncekey::KeyError::Reason::missing;
    return problem(400, missing ? "idempotency_key_missing" : "idempotency_key_invalid",
                   key.error().detail);
  }
  input["async"] = options_.always_async || prefers_async(request);
  oncekey::RunRequest run;
  run.id = {tenant_of(request), key->value};
  run.fingerprint = fingerprinter_.compute({run.id.scope, request.method, request.target,
                                            request.get_header_value("Content-Type"), request.body},
                                           {});
  run.input = input.dump();
  run.method = request.method;
  run.path = request.path;
  const Desks::Seat desk = desks_.take();
  Answer answer = answer_to(((*desk.operator->()).*workflow).run(run));
  answer.headers.push_back({"Idempotency-Key", key->value});
  return answer;
}

Answer Service::get_payment(const Request& request) {
  const Desks::Seat desk = desks_.take();
  const auto payment =
      find_payment(*desk->connection, tenant_of(request), "id", request.matches[1]);
  return payment ? found(describe(*payment)) : not_found("There is no payment of that id.");
}

Answer Service::get_payment_by_key(const Request& request) {
  const std::string key = request.get_param_value("idempotency_key");
  if (key.empty()) return invalid("Ask with ?idempotency_key=….");
  const Desks::Seat desk = desks_.take();
  const std::string tenant = tenant_of(request);
  const auto payment = find_payment(*desk->connection, tenant, "provider_key",
                                    oncekey::derive_key({tenant, key}, charge_order.phase));
  return payment ? found(describe(*payment)) : not_found("No payment was made with this key.");
}

Answer Service::get_refund(const Request& request) {
  const Desks::Seat desk = desks_.take();
  const auto refund = find_refund(*desk->connection, tenant_of(request), request.matches[1]);
  return refund ? found(describe(*refund)) : not_found("There is no refund of that id.");
}

// The provider's word on a charge or refund, at least once and in any order.
Answer Service::receive_webhook(const Request& request) {
  namespace outbox = oncekey::outbox;
  const std::string id = request.get_header_value("webhook-id");
  const std::string timestamp = request.get_header_value("webhook-timestamp");
  const std::string signature = request.get_header_value("webhook-signature");
  const auto check = outbox::verify_webhook(
      options_.webhook_secrets, {id, timestamp, signature, request.body}, std::time(nullptr));
  if (check != outbox::WebhookCheck::good) {
    return problem(401, "signature_invalid", std::string(to_string(check)));
  }
  const json event = json::parse(request.body, nullptr, false);
  if (!event.is_object() || !event.contains("data")) return invalid("This is no event.");
  const json& data = event["data"];
  const Order& order = data.value("object", "") == "refund" ? refund_order : charge_order;
  const Verdict verdict{data.value("status", ""), data.value("id", "")};
  const Desks::Seat desk = desks_.take();
  Connection& connection = *desk->connection;
  oncekey::consume_once(connection.database(), "webhooks", id, [&](oncekey::Transaction&) {
    decide(connection, order.table, data.value("idempotency_key", ""), verdict);
  });
  Answer taken;
  taken.status = 204;
  return taken;
}

}  // namespace payments
