#include "gateway/worker_settings.h"

#include <array>
#include <set>

#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"
#include "http/client.h"
#include "outbox/signature.h"
#include "store/redis_url.h"
#include "store/url_secrets.h"

namespace oncekey::gateway {
namespace {

using outbox::SinkConfig;
using outbox::SinkKind;

constexpr DurationMs second = 1'000;
constexpr DurationMs hour = 3'600 * second;
constexpr DurationMs day = 24 * hour;
constexpr std::size_t name_length_max = 64;

constexpr std::array<std::pair<SinkKind, std::string_view>, 3> kind_names = {
    {{SinkKind::http, "http"}, {SinkKind::kafka, "kafka"}, {SinkKind::redis, "redis"}}};
constexpr std::array<std::pair<outbox::On4xx, std::string_view>, 2> on_4xx_names = {
    {{outbox::On4xx::dead, "dead"}, {outbox::On4xx::retry, "retry"}}};

std::optional<SettingProblem> check_sink_name(std::string_view text) {
  if (!text.empty() && text.size() <= name_length_max &&
      text.find_first_of("\"\\\n\r\t") == std::string_view::npos) {
    return std::nullopt;
  }
  return SettingProblem{
      "a sink's name has 1 to " + std::to_string(name_length_max) + " characters, without quotes",
      "name = \"provider\"",
      {}};
}

std::optional<SettingProblem> check_secret(std::string_view text) {
  auto secret = outbox::parse_webhook_secret(text);
  if (secret) return std::nullopt;
  return SettingProblem{"the secret " + secret.error(),
                        "\"whsec_\" and the base64 of 24 to 64 random bytes: echo whsec_$(openssl "
                        "rand -base64 32)",
                        {}};
}

std::optional<SettingProblem> check_optional_pointer(std::string_view text) {
  return text.empty() ? std::nullopt : check_pointer(text);
}

std::optional<SettingProblem> check_optional_name(std::string_view text) {
  return text.empty() ? std::nullopt : check_field_name(text);
}

// What is wrong with the URL for that kind of sink; "": nothing.
std::string url_problem(const SinkConfig& sink) {
  switch (sink.kind) {
    case SinkKind::http: {
      auto parsed = http::parse_destination(sink.url);
      return parsed ? "" : parsed.error();
    }
    case SinkKind::redis: {
      auto parsed = store::parse_redis_url(sink.url);
      return parsed ? "" : parsed.error();
    }
    case SinkKind::kafka:
      return sink.url.starts_with("kafka://")
                 ? ""
                 : "\"" + store::without_passwords(sink.url) +
                       "\" is not kafka://broker:port[,broker:port]/topic";
  }
  return "";
}

}  // namespace

#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

std::vector<Setting<Config>> worker_settings() {
  using C = Config;
  return {
      text_setting<C>("worker.database", AT(worker.database), check_store),
      text_setting<C>("worker.admin", AT(worker.admin), check_address),
      text_setting<C>("worker.name", AT(worker.outbox.name), check_anything),
      integer_setting<C>("worker.batch_max", AT(worker.outbox.batch_max), 1, 10'000),
      integer_setting<C>("worker.claimed_max", AT(worker.outbox.claimed_max), 1, 100'000),
      duration_setting<C>("worker.lease", AT(worker.outbox.lease_ms), second, hour),
      duration_setting<C>("worker.poll", AT(worker.outbox.poll_ms), 10, hour),
      duration_setting<C>("worker.retention", AT(worker.outbox.retention_ms), 0, 3'650 * day),
      duration_setting<C>("worker.grace", AT(worker.grace_ms), 0, hour),
  };
}

const std::vector<Setting<SinkConfig>>& sink_settings() {
  using S = SinkConfig;
  static const std::vector<Setting<S>> settings = {
      text_setting<S>("name", AT(name), check_sink_name),
      choice_setting<S, SinkKind>("kind", AT(kind), kind_names),
      text_setting<S>("url", AT(url), check_anything),
      duration_setting<S>("timeout", AT(timeout_ms), 10, hour),
      integer_setting<S>("in_flight_max", AT(in_flight_max), 1, 10'000),
      integer_setting<S>("attempts_max", AT(attempts_max), 1, 1'000'000),
      duration_setting<S>("backoff", AT(backoff_base_ms), 1, day),
      duration_setting<S>("backoff_max", AT(backoff_max_ms), 1, 30 * day),
      texts_setting<S>("secrets", AT(secrets), check_secret),
      text_setting<S>("secret_file", AT(secret_file), check_anything),
      choice_setting<S, outbox::On4xx>("on_4xx", AT(on_4xx), on_4xx_names),
      integer_setting<S>("decided_status", AT(decided_status), 0, 499),
      text_setting<S>("key_header", AT(key_header), check_key_header),
      text_setting<S>("provider_id_pointer", AT(provider_id_pointer), check_optional_pointer),
      text_setting<S>("provider_id_header", AT(provider_id_header), check_optional_name),
      size_setting<S>("response_limit", AT(response_limit), 0, 1 << 30),
      text_setting<S>("ca", AT(ca), check_anything),
      text_setting<S>("stream", AT(stream), check_anything),
      integer_setting<S>("stream_max_length", AT(stream_max_length), 0, 1'000'000'000),
      texts_setting<S>("properties", AT(properties), check_anything),
  };
  return settings;
}

#undef AT

void check_sinks(ConfigDraft& draft) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < draft.config.sinks.size(); ++i) {
    const SinkConfig& sink = draft.config.sinks[i];
    const std::string place = "sink." + std::to_string(i);
    auto located = [&](const std::string& name, std::string message, std::string hint) {
      auto found = draft.positions.find(place + "." + name);
      if (found == draft.positions.end()) found = draft.positions.find(place);
      const SourcePosition at = found == draft.positions.end() ? SourcePosition{} : found->second;
      return ConfigError{at.file, at.line, at.column, std::move(message), std::move(hint)};
    };
    auto error = [&](const std::string& name, std::string message, std::string hint = {}) {
      draft.errors.push_back(located(name, name + ": " + std::move(message), std::move(hint)));
    };
    auto only_for = [&](SinkKind kind, std::initializer_list<const char*> settings) {
      if (sink.kind == kind) return;
      for (const char* name : settings) {
        if (!draft.is_set(place + "." + name)) continue;
        draft.warnings.push_back(
            located(name, std::string(name) + " has no effect on this kind of sink", ""));
      }
    };
    if (!sink.name.empty() && !names.insert(sink.name).second) {
      error("name", "another sink is named \"" + sink.name + "\" already");
    }
    if (const std::string wrong = url_problem(sink); !wrong.empty()) error("url", wrong);
    if (sink.backoff_max_ms < sink.backoff_base_ms) {
      error("backoff_max", "is less than backoff");
    }
    only_for(SinkKind::http, {"secrets", "secret_file", "on_4xx", "decided_status", "key_header",
                              "provider_id_pointer", "provider_id_header", "response_limit", "ca"});
    only_for(SinkKind::redis, {"stream", "stream_max_length"});
    only_for(SinkKind::kafka, {"properties"});
  }
}

}  // namespace oncekey::gateway
