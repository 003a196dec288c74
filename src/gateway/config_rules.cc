#include <algorithm>
#include <tuple>

#include "gateway/config_draft.h"
#include "gateway/config_units.h"
#include "gateway/limit_settings.h"
#include "gateway/route_table.h"
#include "gateway/setting_checks.h"
#include "gateway/tenant.h"
#include "gateway/tenant_settings.h"
#include "gateway/tls_settings.h"
#include "gateway/worker_settings.h"
#include "http/field.h"
#include "store/store_url.h"

namespace oncekey::gateway {
namespace {

// "http://host:1/base" → "host:1".
std::string authority_of(std::string_view upstream) {
  const std::size_t scheme = upstream.starts_with("https://") ? 8 : 7;
  upstream.remove_prefix(std::min(upstream.size(), scheme));
  return std::string(upstream.substr(0, upstream.find('/')));
}

// A settlement that cannot be made within its time is tried until the lease is over, and holds up
// the others each time: with 220 MiB on a PostgreSQL beside the gateway nobody was served.
constexpr std::uint64_t shared_response_limit_max = 64 << 20;

bool is_on_another_machine(std::string_view store) {
  const auto url = store::parse_store_url(store);
  return url && url->shared() && !url->shared_file;
}

// Checks what no single setting can know, and remembers where to point.
class Rules {
 public:
  explicit Rules(ConfigDraft& draft) : draft_(draft), config_(draft.config) {}

  void check_gateway(Upstream upstream) {
    if (config_.upstream.empty()) {
      ConfigErrors& list = upstream == Upstream::required ? draft_.errors : draft_.warnings;
      list.push_back({"", 0, 0, "no upstream is set",
                      "--to http://127.0.0.1:3000, or upstream = \"http://127.0.0.1:3000\""});
    }
    if (config_.listen == config_.admin && !config_.listen.ends_with(":0")) {
      error("admin", "is the same address as listen", "admin = \"127.0.0.1:8081\"");
    }
    const std::string upstream_address = authority_of(config_.upstream);
    if (upstream_address == config_.listen || upstream_address == config_.admin) {
      error("upstream", "is this gateway's own address", "");
    }
    check_admin("admin", config_.admin);
    if (config_.store == "memory:") {
      warning("store", "keeps records in memory only: after a restart every retry runs again", "");
    }
    check_forwarded();
    check_tenant(draft_);
  }

  void check_admin(const std::string& name, const std::string& address) {
    if (is_loopback(address) || !config_.admin_token_file.empty() || config_.admin_token_set)
      return;
    error(name, "is reachable from other machines, and there is no token",
          "admin_token_file = \"admin.tokens\", or ONCEKEY_ADMIN_TOKEN, or a loopback address");
  }

  // What a worker does as well; it has routes only for their probes.
  void check_recovery(Upstream upstream) {
    check_webhook();
    check_ledger();
    if (upstream != Upstream::unused) return;
    check_admin("worker.admin", config_.worker.admin);
    for (std::size_t i = 0; i < config_.routes.size(); ++i) {
      const std::string place = "route." + std::to_string(i) + ".";
      check_probe(config_.routes[i], place);
      if (config_.routes[i].probe.get.starts_with('/') && config_.upstream.empty()) {
        error(place + "probe.get", "probe.get: a path, and no upstream that it could be on",
              "\"http://provider/charges?idempotency_key={derived:charge}\"");
      }
    }
  }

  void check_webhook() {
    const WebhookConfig& webhook = config_.webhook;
    const recovery::WebhookRules& rules = webhook.rules;
    if (webhook.listen.empty()) {
      unused_group("webhook.", "webhook.listen");
      return;
    }
    const auto needs = [&](bool missing, const char* what, const char* hint) {
      if (missing) error("webhook.listen", what, hint);
    };
    needs(webhook.secret_file.empty(), "secret_file is missing: anybody could settle records",
          "secret_file = \"webhook.secret\", a file with the provider's whsec_… in it");
    needs(rules.executed_types.empty(), "no type means executed",
          "executed_types = [\"charge.succeeded\"]");
    needs(rules.key.empty() == rules.derived.empty(),
          "either key or derived says which record it is about",
          "derived = \"/data/idempotency_key\" and phase = \"charge\"");
    needs(!rules.derived.empty() && rules.phase.empty(), "derived from which phase?",
          "phase = \"charge\"");
    if (webhook.listen == config_.listen || webhook.listen == config_.admin) {
      if (!webhook.listen.ends_with(":0")) error("webhook.listen", "is taken already", "");
    }
    unused("webhook.phase", rules.derived.empty(), "webhook.derived");
  }

  void check_ledger() {
    const recovery::LedgerRules& rules = config_.ledger.rules;
    if (rules.get.empty()) {
      unused_group("ledger.", "ledger.get");
      return;
    }
    if (!rules.state.empty() && rules.executed_states.empty()) {
      error("ledger.state", "no value of it means executed", "executed_states = [\"succeeded\"]");
    }
    if (!rules.kind.empty() && rules.kinds.empty()) {
      error("ledger.kind", "no value of it is compared", "kinds = [\"charge\"]");
    }
    if (rules.window_ms <= rules.margin_ms) {
      error("ledger.window", "is no longer than ledger.margin", "window = \"24h\"");
    }
    unused("ledger.executed_states", rules.state.empty(), "ledger.state");
    unused("ledger.kinds", rules.kind.empty(), "ledger.kind");
    unused("ledger.our_amount", rules.amount.empty(), "ledger.amount");
  }

  void check_forwarded() {
    if (config_.trust_forwarded && !is_loopback(config_.listen)) {
      warning("trust_forwarded", "clients that connect directly can claim any address", "");
    }
  }

  void check_route(std::size_t index) {
    RouteConfig& route = config_.routes[index];
    const std::string place = "route." + std::to_string(index) + ".";
    derive_lease(route, place);
    if (route.lease_ms <= route.upstream_timeout_ms) {
      error(place + "lease",
            "lease: " + format_duration(route.lease_ms) + " ends before upstream_timeout (" +
                format_duration(route.upstream_timeout_ms) + ") does",
            "lease = \"" + format_duration(2 * route.upstream_timeout_ms) + "\"");
    }
    if (route.key_policy.length_min > route.key_policy.length_max) {
      const bool max_set = draft_.is_set(place + "key_max_length");
      const std::string min = std::to_string(route.key_policy.length_min);
      const std::string max = std::to_string(route.key_policy.length_max);
      error(place + (max_set ? "key_max_length" : "key_min_length"),
            "key_max_length: " + max + " is less than key_min_length (" + min + ")", "");
    }
    if (route.key == KeyUse::optional && !route.key_pointer.empty()) {
      error(place + "key_pointer",
            "key_pointer: a key in the body cannot be optional, as the body is read to find it",
            "key = \"required\"");
    }
    const std::string_view tenant = tenant_header(config_.tenant);
    if (!tenant.empty() && http::equals_ignoring_case(tenant, route.key_header)) {
      error(place + "key_header", "key_header: names the tenant already", "");
    }
    for (const std::string& pointer : route.fingerprint.include) {
      const std::vector<std::string>& exclude = route.fingerprint.exclude;
      if (std::find(exclude.begin(), exclude.end(), pointer) == exclude.end()) continue;
      error(place + "fingerprint.exclude",
            "fingerprint.exclude: \"" + pointer + "\" is also in include", "");
    }
    unused(place + "wait_timeout", route.on_inflight != OnInflight::wait, "on_inflight = \"wait\"");
    unused(place + "tombstone", route.on_expired != OnExpired::tombstone,
           "on_expired = \"tombstone\"");
    unused(place + "fail_open", route.key == KeyUse::off, "a key");
    if (route.fail_open && route.key != KeyUse::off) {
      warning(place + "fail_open",
              "fail_open: while the store is down requests are executed without a record, and "
              "every retry of them runs again",
              "fail_open = false answers them with 503 and Retry-After");
    }
    if (route.response_limit > shared_response_limit_max && is_on_another_machine(config_.store)) {
      error(place + "response_limit",
            "response_limit: a shared store has two seconds for an answer, and everybody waits for "
            "one that takes all of them; at most 64MiB there",
            "larger answers are passed on, and a retry is told that the request ran");
    }
    if (route.key != KeyUse::off && route.retention_ms < route.upstream_timeout_ms) {
      warning(place + "retention",
              "retention: clients that wait for upstream_timeout retry when the key is forgotten",
              "retention = \"24h\"");
    }
    check_probe(route, place);
    for (std::string& name : route.replay_headers) {
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
  }

  void check_coverage() {
    const std::vector<RouteConfig>& routes = config_.routes;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const std::size_t shadow = shadowing_route(routes, i);
      if (shadow == i) continue;
      warning("route." + std::to_string(i) + ".match",
              "match: can never match, \"" + routes[shadow].match + "\" before it takes all of it",
              "put the narrower route first");
    }
    for (const std::string method : {"POST", "PATCH"}) {
      std::vector<RouteConfig> with_rest = routes;
      with_rest.push_back(default_route());
      with_rest.back().methods = {method};
      if (shadowing_route(with_rest, routes.size()) != routes.size()) continue;
      warning("route.0", method + " requests that no route matches pass unprotected",
              "end with a route that has match = \"POST,PATCH *\"");
    }
  }

  void check_probe(RouteConfig& route, const std::string& place) {
    recovery::ProbeRules& probe = route.probe;
    const std::string at = place + "probe.";
    if (probe.get.empty()) {
      const auto any = draft_.positions.lower_bound(at);
      if (any != draft_.positions.end() && any->first.starts_with(at)) {
        error(any->first, "probe: get is missing",
              "probe = { get = \"/payments?idempotency_key={key}\" }");
      }
      return;
    }
    unused(at + "get", route.key == KeyUse::off, "a key");
    if (probe.executed == probe.absent && probe.found.empty() && probe.absent_states.empty()) {
      error(at + "absent", "probe.absent: is the same status as probe.executed",
            "probe.found = \"/data/0\" tells a list that is empty from one that is not");
    }
    if (!probe.state.empty() && probe.executed_states.empty()) {
      error(at + "state", "probe.state: no value of it means executed",
            "probe.executed_states = [\"succeeded\"]");
    }
    for (const char* name : {"executed_states", "declined_states", "absent_states"}) {
      unused(at + name, probe.state.empty(), "probe.state");
    }
    if (!draft_.is_set(at + "absent_after")) {
      probe.absent_after_ms = std::max(probe.absent_after_ms, 2 * route.upstream_timeout_ms);
    }
    if (probe.absent_after_ms < route.upstream_timeout_ms) {
      warning(at + "absent_after",
              "probe.absent_after: " + format_duration(probe.absent_after_ms) +
                  " is less than upstream_timeout (" + format_duration(route.upstream_timeout_ms) +
                  "): a request that is still being worked on would be taken for one that never "
                  "came, and run again",
              "absent_after = \"" + format_duration(2 * route.upstream_timeout_ms) + "\"");
    }
    const bool several = config_.tenant.from != TenantFrom::single || route.scope_principal;
    if (several && !names_tenant(probe)) {
      error(at + "get", "probe.get: does not name the tenant, so one could get another's answer",
            "probe.headers = [\"X-Tenant: {scope}\"], or {scope} in probe.get");
    }
  }

 private:
  static bool names_tenant(const recovery::ProbeRules& probe) {
    const auto names = [](const std::string& text) {
      return text.find("{scope}") != text.npos || text.find("{derived:") != text.npos;
    };
    return names(probe.get) || std::any_of(probe.headers.begin(), probe.headers.end(), names);
  }

  // One of the two alone moves the other, so that a route need not state both.
  void derive_lease(RouteConfig& route, const std::string& place) {
    const bool lease_set = draft_.is_set(place + "lease");
    const bool timeout_set = draft_.is_set(place + "upstream_timeout");
    if (timeout_set && !lease_set) {
      route.lease_ms = std::max(route.lease_ms, 2 * route.upstream_timeout_ms);
    }
    if (lease_set && !timeout_set) {
      route.upstream_timeout_ms = std::min(route.upstream_timeout_ms, route.lease_ms / 2);
    }
  }

  void unused_group(const std::string& prefix, const std::string& needs) {
    const auto any = draft_.positions.lower_bound(prefix);
    if (any == draft_.positions.end() || !any->first.starts_with(prefix)) return;
    warning(any->first, any->first + " has no effect without " + needs, "");
  }

  void unused(const std::string& name, bool without_effect, const std::string& needs) {
    if (!without_effect || !draft_.is_set(name)) return;
    const std::string shown = name.starts_with("route.") ? name.substr(name.rfind('.') + 1) : name;
    warning(name, shown + " has no effect without " + needs, "");
  }

  ConfigError located(const std::string& name, std::string message, std::string hint) const {
    const auto found = draft_.positions.find(name);
    const SourcePosition at = found == draft_.positions.end() ? SourcePosition{} : found->second;
    if (!name.starts_with("route.") && !message.starts_with(name)) message = name + ": " + message;
    return {at.file, at.line, at.column, std::move(message), std::move(hint)};
  }
  void error(const std::string& name, std::string message, std::string hint) {
    draft_.errors.push_back(located(name, std::move(message), std::move(hint)));
  }
  void warning(const std::string& name, std::string message, std::string hint) {
    draft_.warnings.push_back(located(name, std::move(message), std::move(hint)));
  }

  ConfigDraft& draft_;
  Config& config_;
};

void sort_by_line(ConfigErrors& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
}

}  // namespace

Result<LoadedConfig, ConfigErrors> finish_config(ConfigDraft draft, Upstream upstream) {
  const bool read_well = draft.errors.empty();
  Rules rules(draft);
  // A setting that could not be read kept its default; judging it together with others would only
  // report the same mistake again.
  if (read_well) {
    check_sinks(draft);
    check_tls(draft);
    rules.check_recovery(upstream);
  }
  if (read_well && upstream != Upstream::unused) {
    rules.check_gateway(upstream);
    check_limits(draft);
    for (std::size_t i = 0; i < draft.config.routes.size(); ++i) rules.check_route(i);
    if (draft.config.routes.empty()) {
      draft.config.routes.push_back(default_route());
    } else {
      rules.check_coverage();
    }
  }
  sort_by_line(draft.errors);
  sort_by_line(draft.warnings);
  if (!draft.errors.empty()) return draft.errors;
  return LoadedConfig{std::move(draft.config), std::move(draft.warnings)};
}

}  // namespace oncekey::gateway
