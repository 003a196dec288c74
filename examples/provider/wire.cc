#include "wire.h"

#include <httplib.h>

#include <ctime>
#include <nlohmann/json.hpp>

namespace provider {
namespace {

using nlohmann::json;

std::string rfc3339(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ",
                static_cast<int>(milliseconds % 1000));
  return text;
}

}  // namespace

json describe(const Entry& entry) {
  json body = {{"id", entry.id},
               {"object", entry.kind},
               {"number", entry.number},
               {"status", entry.status},
               {"amount", entry.amount},
               {"currency", entry.currency},
               {"reference", entry.reference},
               {"metadata", json::parse(entry.metadata)},
               {"created", rfc3339(entry.created_ms)}};
  body["idempotency_key"] = entry.key.empty() ? json(nullptr) : json(entry.key);
  if (entry.kind == "refund") body["charge"] = entry.charge;
  return body;
}

KeptAnswer answer_of(const Entry& entry) {
  if (entry.status == "declined") {
    const json error = {{"type", "card_error"},
                        {"code", "card_declined"},
                        {"message", "The card was declined."},
                        {"charge", entry.id}};
    return {.status = 402, .body = json{{"error", error}}.dump()};
  }
  return {.status = 201, .body = describe(entry).dump()};
}

std::string event_of(const Entry& entry) {
  return json{{"type", entry.kind + "." + entry.status},
              {"timestamp", rfc3339(entry.created_ms)},
              {"data", describe(entry)}}
      .dump();
}

std::string bare_key(std::string_view header) {
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') {
    header = header.substr(1, header.size() - 2);
  }
  return std::string(header);
}

void send_text(httplib::Response& response, int status, const std::string& json_text) {
  response.status = status;
  response.set_content(json_text, "application/json");
}

void send_json(httplib::Response& response, int status, const json& body) {
  send_text(response, status, body.dump());
}

void send_error(httplib::Response& response, int status, std::string_view type,
                std::string_view code, std::string_view message) {
  send_json(response, status, {{"error", {{"type", type}, {"code", code}, {"message", message}}}});
}

}  // namespace provider
