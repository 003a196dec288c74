#include "service.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "connection.h"
#include "wire.h"

namespace provider {
namespace {

using nlohmann::json;

constexpr std::int64_t amount_max = 1'000'000'000'000;
constexpr std::size_t key_length_max = 255;
constexpr int page_max = 1000;

std::int64_t number_param(const httplib::Request& request, const char* name,
                          std::int64_t otherwise) {
  try {
    return request.has_param(name) ? std::stoll(request.get_param_value(name)) : otherwise;
  } catch (const std::exception&) {
    return otherwise;
  }
}

bool is_text(const json& body, const char* name) {
  return body.contains(name) && body[name].is_string() && !body[name].get<std::string>().empty();
}

}  // namespace

struct Service::Post {
  const httplib::Request& request;
  httplib::Response& response;
  json body = {};
  std::string key = {};
  Faults faults = {};
  Notice notice = {};
  bool faulty = true;  // false: an earlier try had the faults already
};

void Service::add_routes(httplib::Server& server) {
  using httplib::Request;
  using httplib::Response;
  server.Post("/charges",
              [this](const Request& request, Response& response) { charge(request, response); });
  server.Post("/refunds",
              [this](const Request& request, Response& response) { refund(request, response); });
  server.Get("/charges", [this](const Request& request, Response& response) {
    find_by_key("charge", request, response);
  });
  server.Get("/refunds", [this](const Request& request, Response& response) {
    find_by_key("refund", request, response);
  });
  server.Get(R"(/(charges|refunds)/([^/]+))", [this](const Request& request, Response& response) {
    const auto entry = ledger_.find(request.matches[2]);
    if (!entry)
      return send_error(response, 404, "invalid_request_error", "resource_missing",
                        "There is nothing of that id.");
    send_json(response, 200, describe(*entry));
  });
  server.Get("/ledger",
             [this](const Request& request, Response& response) { list(request, response); });
  server.Get("/ledger/summary",
             [this](const Request& request, Response& response) { summarise(request, response); });
  server.Get("/webhooks/summary", [this](const Request&, Response& response) {
    send_json(response, 200, ledger_.webhook_counts());
  });
  server.set_exception_handler([](const Request&, Response& response, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const json::type_error& error) {
      send_error(response, 400, "invalid_request_error", "body_invalid", error.what());
    } catch (const std::exception& error) {
      send_error(response, 500, "api_error", "internal", error.what());
    }
  });
}

void Service::charge(const httplib::Request& request, httplib::Response& response) {
  Post post{request, response};
  if (!read(post)) return;
  const json& body = post.body;
  if (!body.contains("amount") || !body["amount"].is_number_integer() || body["amount"] < 1 ||
      body["amount"] > amount_max) {
    return send_error(response, 400, "invalid_request_error", "amount_invalid",
                      "amount is a whole number from 1 to " + std::to_string(amount_max) +
                          ", in the currency's smallest unit.");
  }
  if (!is_text(body, "currency")) {
    return send_error(response, 400, "invalid_request_error", "currency_missing",
                      "currency is a text such as \"EUR\".");
  }
  run(post, [this, &post, &body] {
    Entry entry;
    entry.kind = "charge";
    entry.status = post.faults.decline ? "declined" : "succeeded";
    entry.amount = body["amount"];
    entry.currency = body["currency"];
    entry.reference = body.value("reference", "");
    enter(post, std::move(entry));
  });
}

void Service::refund(const httplib::Request& request, httplib::Response& response) {
  Post post{request, response};
  if (!read(post)) return;
  const json& body = post.body;
  if (!is_text(body, "charge")) {
    return send_error(response, 400, "invalid_request_error", "charge_missing",
                      "charge is the id of the charge to refund.");
  }
  if (body.contains("amount") && (!body["amount"].is_number_integer() || body["amount"] < 1)) {
    return send_error(response, 400, "invalid_request_error", "amount_invalid",
                      "amount is a whole number from 1; without it, all that is left is refunded.");
  }
  run(post, [this, &post, &body, &response] {
    // No other refund may come between the look and the entry.
    const std::lock_guard one_at_a_time(refunding_);
    const auto charged = ledger_.find(body["charge"]);
    if (!charged || charged->kind != "charge" || charged->status != "succeeded") {
      return send_error(response, 404, "invalid_request_error", "resource_missing",
                        "There is no charge of that id that could be refunded.");
    }
    const std::int64_t left = ledger_.refundable(charged->id);
    const std::int64_t amount = body.value("amount", left);
    if (amount < 1 || amount > left) {
      return send_error(response, 400, "invalid_request_error", "charge_already_refunded",
                        "Of this charge only " + std::to_string(left) + " is left to refund.");
    }
    Entry entry;
    entry.kind = "refund";
    entry.status = "succeeded";
    entry.charge = charged->id;
    entry.amount = -amount;
    entry.currency = charged->currency;
    entry.reference = body.value("reference", charged->reference);
    enter(post, std::move(entry));
  });
}

bool Service::read(Post& post) {
  const httplib::Request& request = post.request;
  post.body = json::parse(request.body, nullptr, false);
  if (!post.body.is_object() ||
      (post.body.contains("metadata") && !post.body["metadata"].is_object())) {
    send_error(post.response, 400, "invalid_request_error", "body_invalid",
               "The body is a JSON object; its metadata, if any, too.");
    return false;
  }
  post.key = bare_key(request.get_header_value("Idempotency-Key"));
  if (post.key.size() > key_length_max) {
    send_error(post.response, 400, "idempotency_error", "idempotency_key_invalid",
               "An idempotency key has at most " + std::to_string(key_length_max) + " characters.");
    return false;
  }
  std::string ordered = request.get_header_value("X-Fault");
  if (ordered.empty() && post.body.contains("metadata"))
    ordered = post.body["metadata"].value("fault", "");
  auto faults = parse_faults(ordered);
  if (const auto* complaint = std::get_if<std::string>(&faults)) {
    send_error(post.response, 400, "invalid_request_error", "fault_unknown", *complaint);
    return false;
  }
  post.faults = std::get<Faults>(faults);
  if (ordered.empty() && options_.random_faults) post.faults = options_.random_faults->of(post.key);

  post.notice.url = request.has_header("X-Webhook-Url") ? request.get_header_value("X-Webhook-Url")
                                                        : options_.webhook_url;
  post.notice.secret = request.has_header("X-Webhook-Secret")
                           ? request.get_header_value("X-Webhook-Secret")
                           : options_.webhook_secret;
  if (!post.notice.url.empty() && !is_secret(post.notice.secret)) {
    send_error(post.response, 400, "invalid_request_error", "webhook_secret_invalid",
               "X-Webhook-Secret is whsec_ and base64.");
    return false;
  }
  post.notice.delay_ms = post.faults.late_webhook.count();
  post.notice.deliveries = post.faults.lost_webhook ? 0 : post.faults.duplicate_webhook ? 2 : 1;
  return true;
}

template <class Work>
void Service::run(Post& post, Work work) {
  if (post.key.empty()) {
    begin(post, work);
    return fail(post);
  }
  post.response.set_header("Idempotency-Key", post.key);
  if (!hold(post.key)) {
    post.response.set_header("Retry-After", "1");
    return send_error(post.response, 409, "idempotency_error", "idempotency_key_in_use",
                      "A request with this key is under way.");
  }
  struct Release {
    Service& service;
    const std::string& key;
    ~Release() { service.release(key); }
  };
  {
    const Release release{*this, post.key};
    post.faulty = !post.faults.any_of_the_connection() || post.faults.always ||
                  ledger_.is_first_try(post.key);
    begin(post, [&] { work_once(post, work); });
  }
  // Only now, so that a caller who sees the connection break finds the key free.
  fail(post);
}

template <class Work>
void Service::begin(const Post& post, Work work) {
  const Faults& faults = post.faults;
  if (post.faulty && faults.slow.count() > 0) std::this_thread::sleep_for(faults.slow);
  if (!post.faulty || !(faults.reset_before || faults.error_500)) work();
}

template <class Work>
void Service::work_once(Post& post, Work work) {
  const auto kept = ledger_.answer_to(post.key);
  if (!kept) return work();
  if (kept->request != post.request.path + post.body.dump()) {
    return send_error(post.response, 400, "idempotency_error", "idempotency_key_reused",
                      "This key was used for another request.");
  }
  post.response.set_header("Idempotent-Replayed", "true");
  send_text(post.response, kept->status, kept->body);
}

void Service::enter(Post& post, Entry entry) {
  entry.key = post.key;
  entry.metadata = post.body.value("metadata", json::object()).dump();
  entry.created_ms = now_ms();
  const KeptAnswer kept = ledger_.enter(
      std::move(entry), {.request = post.request.path + post.body.dump(),
                         .answer = [](const Entry& entered) { return answer_of(entered); },
                         .payload = [](const Entry& entered) { return event_of(entered); },
                         .notice = post.notice});
  webhooks_.wake();
  send_text(post.response, kept.status, kept.body);
}

void Service::fail(const Post& post) {
  const Faults& faults = post.faults;
  if (!post.faulty) return;
  if (faults.timeout_after_charge) leave_unanswered(post.request, options_.hang_max, stopping_);
  if (faults.reset_before || faults.reset_after) reset_connection(post.request);
  if (faults.error_500 || faults.error_500_after) {
    send_error(post.response, 500, "api_error", "fault", "Something went wrong.");
  }
}

void Service::find_by_key(const std::string& kind, const httplib::Request& request,
                          httplib::Response& response) {
  const std::string key = request.get_param_value("idempotency_key");
  if (key.empty()) {
    return send_error(response, 400, "invalid_request_error", "key_missing",
                      "Ask with ?idempotency_key=….");
  }
  // Asked before the ledger: a request that ends in between is found there.
  const bool held = is_held(key);
  if (const auto entry = ledger_.find_by_key(kind, key))
    return send_json(response, 200, describe(*entry));
  if (held) {
    response.set_header("Retry-After", "1");
    return send_error(response, 409, "idempotency_error", "idempotency_key_in_use",
                      "A request with this key is under way.");
  }
  send_error(response, 404, "invalid_request_error", "resource_missing",
             "No " + kind + " was made with this key.");
}

void Service::list(const httplib::Request& request, httplib::Response& response) {
  const auto limit =
      static_cast<int>(std::clamp<std::int64_t>(number_param(request, "limit", 100), 1, page_max));
  const auto entries = ledger_.list(number_param(request, "after", 0), limit,
                                    request.get_param_value("declined") == "true");
  json items = json::array();
  for (const Entry& entry : entries) items.push_back(describe(entry));
  json page = {{"data", items}, {"has_more", static_cast<int>(entries.size()) == limit}};
  if (!entries.empty()) page["next_after"] = entries.back().number;
  send_json(response, 200, page);
}

void Service::summarise(const httplib::Request& request, httplib::Response& response) {
  const Summary summary = ledger_.summary();
  const auto repeated = [](const std::map<std::string, std::int64_t>& counts) {
    json repeats = json::object();
    for (const auto& [name, count] : counts) {
      if (!name.empty() && count > 1) repeats[name] = count;
    }
    return repeats;
  };
  json answer = {{"sum", summary.sum},
                 {"count", summary.charges + summary.refunds},
                 {"charges", summary.charges},
                 {"refunds", summary.refunds},
                 {"declined", summary.declined},
                 {"repeated_keys", repeated(summary.charges_per_key)},
                 {"repeated_references", repeated(summary.charges_per_reference)}};
  if (request.get_param_value("per") == "key") answer["per_key"] = summary.charges_per_key;
  if (request.get_param_value("per") == "reference")
    answer["per_reference"] = summary.charges_per_reference;
  send_json(response, 200, answer);
}

bool Service::hold(const std::string& key) {
  std::lock_guard lock(mutex_);
  return held_keys_.insert(key).second;
}

void Service::release(const std::string& key) {
  std::lock_guard lock(mutex_);
  held_keys_.erase(key);
}

bool Service::is_held(const std::string& key) {
  std::lock_guard lock(mutex_);
  return held_keys_.contains(key);
}

}  // namespace provider
