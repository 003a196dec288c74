#include "gateway/key_status.h"

#include <algorithm>
#include <optional>

#include "boundary/json_writer.h"
#include "boundary/response_codec.h"
#include "gateway/own_answer.h"
#include "gateway/replay.h"
#include "gateway/retry_times.h"
#include "oncekey/key.h"

namespace oncekey::gateway {

namespace {

constexpr std::string_view answer_suffix = "answer";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

constexpr std::string_view scope_parameter = "scope=";

// Names one of a caller's scopes to that caller, and nothing to anybody else.
std::string scope_tag(const Context& context, std::string_view scope) {
  static constexpr char digits[] = "0123456789abcdef";
  constexpr std::size_t bytes = 8;
  FingerprintInput input;
  input.tenant = scope;
  const Fingerprint fingerprint = context.fingerprinter.compute(input, {});
  std::string tag;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(fingerprint.digest[i]);
    tag.push_back(digits[byte >> 4]);
    tag.push_back(digits[byte & 15]);
  }
  return tag;
}

// Of the target's query; "": none was named.
std::string_view wanted_scope(std::string_view target) {
  std::size_t at = target.find('?');
  while (at != std::string_view::npos) {
    target.remove_prefix(at + 1);
    at = target.find('&');
    if (target.starts_with(scope_parameter)) {
      return target.substr(0, at).substr(scope_parameter.size());
    }
  }
  return {};
}

struct Wanted {
  std::string key;
  bool answer = false;  // the stored answer, not the state
};

// Empty: such a key cannot exist.
std::optional<Wanted> wanted_by(std::string_view path) {
  path.remove_prefix(key_status_prefix.size());
  const std::size_t slash = path.find('/');
  Wanted wanted;
  if (slash != std::string_view::npos) {
    if (path.substr(slash + 1) != answer_suffix) return std::nullopt;
    wanted.answer = true;
  }
  const std::optional<std::string> key = percent_decoded(path.substr(0, slash));
  KeyPolicy any;
  any.length_min = 1;
  any.personal_data = PersonalData::allow;
  if (!key || !check_key(*key, any)) return std::nullopt;
  wanted.key = *key;
  return wanted;
}

// One look-up, from the credentials to the answer.
class Lookup {
 public:
  Lookup(const Context& context, http::Exchange& exchange)
      : context_(context), exchange_(exchange), started_us_(steady_now_us()) {}

  http::Task<void> run();

 private:
  enum class Found { yes, no, several, unavailable };

  bool find_scopes();
  http::Task<Found> find_record();
  http::Task<void> answer_found(bool answer_wanted);
  http::Task<void> send_stored();
  http::Task<void> answer(AnswerCase answer_case, std::string_view detail = {},
                          std::optional<DurationMs> retry_after_ms = {});
  void write_log();

  const Context& context_;
  http::Exchange& exchange_;
  std::int64_t started_us_;
  std::string refusal_;              // why no tenant could be found
  std::vector<std::string> scopes_;  // in which this caller's keys may be
  RecordId id_;
  Record record_;
  RequestLine line_;
  std::string error_;
  std::string instance_;
};

http::Task<void> Lookup::run() {
  line_.decision = Decision::looked_up;
  const std::optional<Wanted> wanted = wanted_by(exchange_.head().path);
  const std::string_view method = exchange_.head().method;
  if (method != "GET" && method != "HEAD") {
    co_await answer(AnswerCase::not_supported, "Here, only GET and HEAD are understood.");
  } else if (!find_scopes()) {
    line_.decision = Decision::refused;
    co_await answer(AnswerCase::tenant_missing, refusal_);
  } else if (!wanted) {
    co_await answer(AnswerCase::key_not_found);
  } else {
    id_.key = wanted->key;
    const Found found = co_await find_record();
    switch (found) {
      case Found::yes:
        co_await answer_found(wanted->answer);
        break;
      case Found::no:
        co_await answer(AnswerCase::key_not_found);
        break;
      case Found::several:
        co_await answer(AnswerCase::request_invalid,
                        "This key was used in several scopes. Use the address in the Location of "
                        "the answer to the request itself, or send that request again.");
        break;
      case Found::unavailable:
        line_.decision = Decision::unavailable;
        co_await answer(AnswerCase::store_unavailable, {}, retry_store_ms);
        break;
    }
  }
  write_log();
}

// A route may add to the scope; the caller need not know which route its key was for.
bool Lookup::find_scopes() {
  const CallerEvidence evidence = evidence_of(exchange_, wall_now_ms());
  for (const RouteConfig& route : context_.config.routes) {
    if (route.key == KeyUse::off) continue;
    Result<Caller, TenantError> caller = context_.tenants->resolve(evidence, route);
    if (!caller) {
      refusal_ = caller.error().detail;
      continue;
    }
    if (std::find(scopes_.begin(), scopes_.end(), caller->scope) == scopes_.end()) {
      scopes_.push_back(std::move(caller->scope));
    }
  }
  if (scopes_.empty()) return false;
  const std::string_view tag = wanted_scope(exchange_.head().target);
  if (!tag.empty()) {
    std::erase_if(scopes_,
                  [&](const std::string& scope) { return scope_tag(context_, scope) != tag; });
  }
  return true;
}

http::Task<Lookup::Found> Lookup::find_record() {
  bool found = false;
  for (const std::string& scope : scopes_) {
    id_.scope = scope;
    http::SteadyMs deadline = context_.loop.now() + context_.config.timeouts.store_ms;
    CommitGate::Commit<Get> commit = context_.gate.commit<Get>(deadline);
    commit.operation().id = id_;
    auto outcome = co_await commit;
    if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      error_ = unavailable->reason;
      context_.metrics.store_error();
      co_return Found::unavailable;
    }
    auto& record = std::get<std::optional<Record>>(outcome);
    if (!record) continue;
    if (found) co_return Found::several;
    found = true;
    record_ = std::move(*record);
    record_.id = id_;
  }
  if (!found) co_return Found::no;
  id_ = record_.id;
  co_return Found::yes;
}

http::Task<void> Lookup::answer_found(bool answer_wanted) {
  line_.attempt = record_.attempt;
  const Route* route = context_.routes.match(record_.method, record_.path);
  const DurationMs again_ms = look_again_in(record_, route != nullptr ? &route->config : nullptr);
  if (!answer_wanted) {
    http::ResponseStart start;
    start.status = 200;
    start.add("Content-Type", "application/json");
    add_status_fields(start, again_ms);
    add_date(start);
    const std::string query = key_status_query(context_, record_.id.scope);
    const std::string body = key_status_json(record_, again_ms, query);
    co_await exchange_.respond(start, body);
    co_return;
  }
  switch (record_.state) {
    case State::completed:
      co_await send_stored();
      break;
    case State::in_progress:
      co_await answer(AnswerCase::in_flight,
                      "The request still runs. Look again after the time in Retry-After.",
                      again_ms);
      break;
    case State::unknown:
      co_await answer(AnswerCase::outcome_unknown, {}, again_ms);
      break;
    case State::failed_retryable:
      co_await answer(AnswerCase::not_executed);
      break;
    case State::expired:
      co_await answer(AnswerCase::result_expired);
      break;
  }
}

http::Task<void> Lookup::send_stored() {
  if (!record_.response) {
    co_await answer(AnswerCase::result_not_kept);
    co_return;
  }
  ReplayedAnswer stored;
  if (!stored.read(*record_.response, error_)) {
    line_.decision = Decision::unavailable;
    co_await answer(AnswerCase::result_unreadable);
    co_return;
  }
  http::ResponseStart start;
  start.status = record_.response->status;
  for (const Header& header : record_.response->headers) {
    // Whatever it was for the request: a cache must not give this GET's answer to somebody else.
    // And an application that shares the store may have kept all of its headers.
    const bool for_caches = http::equals_ignoring_case(header.name, "Cache-Control");
    if (!for_caches && replayable_header(header.name)) start.add(header.name, header.value);
  }
  start.add("Cache-Control", "no-store");
  start.add(replay_marker(Profile::ietf), "true");
  start.add("Idempotency-Expires", format_rfc3339(record_.expires_at));
  add_date(start);
  co_await exchange_.respond(start, stored.body());
}

http::Task<void> Lookup::answer(AnswerCase answer_case, std::string_view detail,
                                std::optional<DurationMs> retry_after_ms) {
  OwnAnswer own{answer_case, nullptr, detail, retry_after_ms, 0, {}};
  own.no_store = true;
  instance_ = co_await send_own_answer(context_, exchange_, own);
}

void Lookup::write_log() {
  line_.method = exchange_.head().method;
  line_.path = exchange_.head().path;
  line_.key = id_.key;
  line_.tenant = id_.scope;
  line_.peer = exchange_.peer();
  line_.error = error_;
  line_.instance = instance_;
  line_.status = exchange_.status();
  line_.total_us = steady_now_us() - started_us_;
  context_.metrics.request(line_.decision, line_.status, to_seconds(line_.total_us));
  context_.requests.request(line_);
}

}  // namespace

http::Task<void> answer_key_status(const Context& context, http::Exchange& exchange) {
  Lookup lookup(context, exchange);
  co_await lookup.run();
}

std::string key_status_path(std::string_view key) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string path(key_status_prefix);
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      path.push_back(c);
    } else {
      path.push_back('%');
      path.push_back(digits[byte >> 4]);
      path.push_back(digits[byte & 15]);
    }
  }
  return path;
}

std::string key_status_query(const Context& context, std::string_view scope) {
  const auto& routes = context.config.routes;
  const bool key_is_enough = std::none_of(routes.begin(), routes.end(), [](const auto& route) {
    return route.scope_route || route.scope_principal;
  });
  if (key_is_enough) return {};
  return "?" + std::string(scope_parameter) + scope_tag(context, scope);
}

DurationMs look_again_in(const Record& record, const RouteConfig* route) {
  switch (record.state) {
    case State::in_progress:
      return retry_in_flight_ms;
    case State::unknown:
      return retry_unknown_in(route, record.reconcile_after - record.read_at);
    case State::completed:
    case State::failed_retryable:
    case State::expired:
      break;
  }
  return 0;
}

std::string key_status_json(const Record& record, DurationMs again_ms, std::string_view query) {
  std::string out;
  JsonWriter json(out);
  const auto time = [&json](std::string_view name, TimestampMs at) {
    if (at > 0) json.member(name, format_rfc3339(at));
  };
  json.begin_object();
  json.member("key", record.id.key);
  json.member("state", to_string(record.state));
  json.member("attempt", record.attempt);
  time("created_at", record.created_at);
  time("completed_at", record.completed_at);
  time("expires_at", record.expires_at);
  if (record.response) json.member("status", record.response->status);
  json.member("replay_available", record.response != nullptr);
  if (record.response) {
    json.member("answer", key_status_path(record.id.key) + "/answer" + std::string(query));
  }
  if (again_ms > 0) json.member("retry_after", (again_ms + 999) / 1'000);
  json.end_object();
  return out;
}

void add_status_fields(http::ResponseStart& start, DurationMs again_ms) {
  start.add("Cache-Control", "no-store");
  if (again_ms > 0) start.add("Retry-After", std::to_string((again_ms + 999) / 1'000));
}

}  // namespace oncekey::gateway
