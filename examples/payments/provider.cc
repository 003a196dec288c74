#include "provider.h"

#include <httplib.h>
#include <oncekey/workflow.h>

namespace payments {
namespace {

using namespace nlohmann::literals;
using nlohmann::json;
using oncekey::CallFailed;

httplib::Client connect(const std::string& url, std::chrono::milliseconds timeout) {
  httplib::Client client(url);
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  client.set_write_timeout(timeout);
  return client;
}

}  // namespace

void to_json(json& json, const Verdict& verdict) {
  json = {{"status", verdict.status}, {"provider_id", verdict.provider_id}};
}
void from_json(const json& json, Verdict& verdict) {
  verdict = {json.at("status"), json.at("provider_id")};
}

Verdict Provider::make(const std::string& path, const std::string& body,
                       const std::string& key) const {
  httplib::Client client = connect(url_, timeout_);
  const auto answer = client.Post(path, {{"Idempotency-Key", key}}, body, "application/json");
  if (!answer) {
    const bool refused = answer.error() == httplib::Error::Connection;
    throw CallFailed(refused ? CallFailed::Kind::not_sent : CallFailed::Kind::no_answer,
                     "the provider did not answer: " + httplib::to_string(answer.error()));
  }
  const json said = json::parse(answer->body, nullptr, false);
  if (answer->status == 201 && said.contains("id")) return {"succeeded", said["id"]};
  if (answer->status == 402) return {"declined", said.value("/error/charge"_json_pointer, "")};
  // 409: an earlier attempt is still under way there. 5xx: it may have been made all the same. And
  // whatever it has against the key, something may have been made under it.
  const bool about_key = said.value("/error/type"_json_pointer, "") == "idempotency_error";
  if (answer->status == 409 || answer->status == 429 || answer->status >= 500 || about_key) {
    throw CallFailed(CallFailed::Kind::no_answer,
                     "the provider answered " + std::to_string(answer->status));
  }
  return {"refused", ""};
}

std::optional<Verdict> Provider::find(const std::string& path, const std::string& key) const {
  httplib::Client client = connect(url_, timeout_);
  const auto answer = client.Get(path + "?idempotency_key=" + key);
  if (!answer || answer->status != 200) return std::nullopt;
  const json said = json::parse(answer->body, nullptr, false);
  if (!said.contains("id") || !said.contains("status")) return std::nullopt;
  return Verdict{said["status"], said["id"]};
}

}  // namespace payments
