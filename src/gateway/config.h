// Everything the gateway can be told, with its default. docs/configuration.md explains each key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boundary/answer.h"
#include "http/address_ranges.h"
#include "http/tls_options.h"
#include "identity/token.h"
#include "oncekey/classify.h"
#include "oncekey/fingerprint.h"
#include "oncekey/key.h"
#include "oncekey/record.h"
#include "oncekey/result.h"
#include "outbox/sink_config.h"
#include "outbox/worker_config.h"
#include "recovery/ledger_page.h"
#include "recovery/probe.h"
#include "recovery/webhook.h"

namespace oncekey::gateway {

enum class KeyUse { required, optional, off };
enum class OnInflight { conflict, wait };
enum class OnExpired { forget, tombstone };
enum class UpgradeUse { refuse, pass };
enum class AsyncUse { off, allowed, always };
enum class LogFormat { json, text };
enum class LogLevel { debug, info, warn, error, off };
enum class TenantFrom { single, header, api_key, jwt, mtls };
enum class CertificatePart { common_name, subject, dns, uri, sha256 };

// One [[route]]; the defaults are those of a gateway without any route.
struct RouteConfig {
  std::string match;                 // as written: "POST,PATCH /payments/*"
  std::vector<std::string> methods;  // empty: POST and PATCH
  std::string path = "*";  // pattern; `*` at the end matches any rest, as a segment any one
  KeyUse key = KeyUse::required;
  std::string key_header = "Idempotency-Key";
  std::string key_pointer;  // JSON pointer into the body, used when the header is absent; "": none
  KeyPolicy key_policy;
  Profile profile = Profile::ietf;
  AnswerStatuses statuses;  // mismatch, in_flight, unknown, expired
  DurationMs retention_ms = 24LL * 3600 * 1000;
  DurationMs lease_ms = 60'000;
  DurationMs upstream_timeout_ms = 30'000;
  std::size_t body_limit = 1 << 20;
  std::size_t response_limit = 1 << 20;
  OnInflight on_inflight = OnInflight::conflict;
  DurationMs wait_timeout_ms = 10'000;  // on_inflight = wait: how long a duplicate is held
  On5xx on_5xx = On5xx::retry;
  OnExpired on_expired = OnExpired::forget;
  DurationMs tombstone_ms = 30LL * 24 * 3600 * 1000;  // on_expired = tombstone: how long
  bool fail_open = false;  // without the store: execute without a record, instead of 503
  FingerprintRules fingerprint;
  std::vector<std::string> replay_headers;  // lower case; empty: default_replay_headers()
  // How an unknown outcome is found out; `get` is a path on the upstream, or a URL. "": it is not.
  recovery::ProbeRules probe;
  // A request that was first sent longer ago is not executed. 0: whatever its age.
  DurationMs max_age_ms = 0;
  std::string age_header = "Repeatability-First-Sent";
  bool age_required = true;           // false: a request without the header has no age
  DurationMs age_leeway_ms = 60'000;  // how far a client's clock may be ahead
  AsyncUse async = AsyncUse::off;     // 202 and a status resource instead of the answer
  // What the scope of a record has besides the tenant.
  bool scope_route = false;      // `match`, as written
  bool scope_principal = false;  // who of the tenant's people or programs it is
};

struct TenantConfig {
  TenantFrom from = TenantFrom::single;
  std::string name = "default";                  // single: the one tenant
  std::string header = "X-Tenant";               // header: set by a trusted front proxy
  std::string api_key_header = "Authorization";  // api_key: "Bearer k", "Basic k" or the bare value
  bool api_key_allow_jwt = false;  // api_key: a refreshed token would be another tenant
  std::string api_keys_file;       // api_key: a line for each key; "": every key is a tenant
  // Who may set `header` and `principal_header`: nobody else's is believed or passed on.
  http::AddressRanges trusted = *http::AddressRanges::of({"127.0.0.0/8", "::1"});
  std::string token_header = "Authorization";  // jwt: "Bearer t"; in other headers also bare
  std::string keys;                            // jwt: JWK set, PEM, or a bare secret
  identity::TokenRules token;                  // jwt
  CertificatePart certificate = CertificatePart::common_name;  // mtls
  std::string principal_header;                                // "": none is read
};

// What one tenant may do. -1: as [limits] says.
struct TenantLimits {
  std::string name;  // as the log shows it
  std::int64_t new_keys_per_second = -1;
  std::int64_t new_keys_burst = -1;
  std::int64_t live_keys_max = -1;
};

struct Limits {
  std::size_t header_block = 32 << 10;
  std::size_t header_count = 100;
  std::size_t connections = 10'000;
  std::size_t upstream_connections_idle = 256;  // kept per I/O thread
  std::int64_t new_keys_per_second = 0;         // of one tenant; 0: no limit
  std::int64_t new_keys_burst = 0;              // 0: those of one second
  std::int64_t live_keys_max = 0;               // of one tenant; 0: no cap
  DurationMs live_keys_recount_ms = 60'000;
  std::vector<TenantLimits> tenants;  // those that differ
};

struct Timeouts {
  DurationMs header_ms = 10'000;
  DurationMs body_ms = 30'000;
  DurationMs idle_ms = 60'000;
  DurationMs connect_ms = 2'000;
  DurationMs upstream_idle_ms = 4'000;  // shorter than upstreams keep theirs
  DurationMs write_ms = 30'000;         // a client that does not read its answer
  DurationMs store_ms = 5'000;   // reserve or settle slower than this: the store is unavailable
  DurationMs grace_ms = 20'000;  // SIGTERM: how long in-flight requests may still take
};

// Where a provider reports by itself what became of a request.
struct WebhookConfig {
  std::string listen;  // "": nowhere
  std::string path = "/webhooks";
  std::string secret_file;  // a line for each secret: whsec_…
  DurationMs tolerance_ms = 5 * 60'000;
  recovery::WebhookRules rules;
};

// The daily comparison with a provider's ledger; `rules.get` "": none.
struct LedgerConfig {
  std::string match = "POST *";  // records that ought to have a charge
  DurationMs every_ms = 24LL * 3600 * 1000;
  recovery::LedgerRules rules;
};

// `oncekey worker`: what it delivers, and how.
struct WorkerRole {
  std::string database;  // postgres://… or sqlite:PATH; "": the store's
  std::string admin = "127.0.0.1:8082";
  DurationMs grace_ms = 20'000;  // SIGTERM: how long deliveries under way may still take
  outbox::WorkerConfig outbox;
};

// Where finished requests go as spans.
struct TracesConfig {
  std::string otlp;   // the collector's URL; "": nowhere
  int percent = 100;  // of the traces that begin here
};

struct Config {
  std::string listen = "127.0.0.1:8080";
  std::string admin = "127.0.0.1:8081";
  std::string admin_token_file;          // NAME read|write TOKEN lines; "": none
  std::string admin_audit_file;          // "": beside the store, or in the working directory
  std::vector<std::string> admin_hosts;  // names by which the port may be asked, besides its own
  bool admin_token_set = false;          // ONCEKEY_ADMIN_TOKEN has one
  std::string upstream;                  // http://host:port[/base], or https://
  std::string store = "rocksdb:./oncekey-data";
  std::string secret_file;           // "": made in the store's folder at the first start
  std::string encryption_keys_file;  // "": stored answers are not encrypted
  std::string policy_url = "/.well-known/idempotency";  // what errors link to
  std::uint32_t threads = 0;                            // 0: chosen by the store
  bool forwarded = true;                                // add Forwarded and X-Forwarded-*
  bool trust_forwarded = false;                         // keep those the client sent
  UpgradeUse upgrade = UpgradeUse::refuse;
  std::size_t replay_cache_bytes = 32 << 20;
  DurationMs replay_trust_ms = 60'000;  // caches ask the store again after this
  LogFormat log_format = LogFormat::json;
  LogLevel log_level = LogLevel::info;
  TracesConfig traces;
  TenantConfig tenant;
  Limits limits;
  Timeouts timeouts;
  http::ServerTlsOptions tls;           // without a certificate: plain HTTP
  http::ClientTlsOptions upstream_tls;  // for an upstream that begins with https://
  WebhookConfig webhook;
  LedgerConfig ledger;
  WorkerRole worker;
  std::vector<outbox::SinkConfig> sinks;
  std::vector<RouteConfig> routes;  // first match wins; load_config adds the default one when empty
};

const std::vector<std::string>& default_replay_headers();

}  // namespace oncekey::gateway
