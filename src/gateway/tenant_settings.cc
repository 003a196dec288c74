#include "gateway/tenant_settings.h"

#include <algorithm>
#include <array>

#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"

namespace oncekey::gateway {
namespace {

using C = Config;
using Problem = std::optional<SettingProblem>;
using Texts = std::vector<std::string>;

constexpr std::array<std::pair<TenantFrom, std::string_view>, 5> from_names{
    {{TenantFrom::single, "single"},
     {TenantFrom::header, "header"},
     {TenantFrom::api_key, "api_key"},
     {TenantFrom::jwt, "jwt"},
     {TenantFrom::mtls, "mtls"}}};
constexpr std::array<std::pair<CertificatePart, std::string_view>, 5> certificate_names{
    {{CertificatePart::common_name, "common_name"},
     {CertificatePart::subject, "subject"},
     {CertificatePart::dns, "dns"},
     {CertificatePart::uri, "uri"},
     {CertificatePart::sha256, "sha256"}}};

constexpr DurationMs leeway_max_ms = 10 * 60'000;
constexpr std::uint64_t token_length_min = 64;
constexpr std::uint64_t token_length_limit = 64 << 10;

#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

// A list, or one text alone.
Texts texts_of(const SettingValue& value, bool& wrong) {
  if (const auto* text = std::get_if<std::string>(&value)) return {*text};
  if (const auto* texts = std::get_if<Texts>(&value)) return *texts;
  wrong = true;
  return {};
}

template <class At>
Setting<C> names_setting(std::string_view name, At at) {
  return {name, ValueKind::texts,
          [at](C& config, const SettingValue& value) -> Problem {
            bool wrong = false;
            Texts texts = texts_of(value, wrong);
            if (wrong) return wrong_type("a string or a list of strings", value);
            for (std::size_t i = 0; i < texts.size(); ++i) {
              if (texts[i].empty()) return SettingProblem{"an empty name is nobody's", {}, i};
            }
            at(config) = std::move(texts);
            return std::nullopt;
          },
          [at](const C& config) -> SettingValue { return at(config); }};
}

Problem set_trusted(C& config, const SettingValue& value) {
  const auto* texts = std::get_if<Texts>(&value);
  if (texts == nullptr) return wrong_type("a list of strings", value);
  for (std::size_t i = 0; i < texts->size(); ++i) {
    if (const auto one = http::AddressRanges::of({(*texts)[i]}); !one) {
      return SettingProblem{one.error(), "\"10.0.0.0/8\", \"192.0.2.7\" or \"::1\"", i};
    }
  }
  config.tenant.trusted = *http::AddressRanges::of(*texts);
  return std::nullopt;
}

Problem set_algorithms(C& config, const SettingValue& value) {
  const auto* texts = std::get_if<Texts>(&value);
  if (texts == nullptr) return wrong_type("a list of strings", value);
  std::vector<identity::Algorithm> algorithms;
  for (std::size_t i = 0; i < texts->size(); ++i) {
    const auto algorithm = identity::algorithm_named((*texts)[i]);
    if (!algorithm) {
      return SettingProblem{
          "\"" + (*texts)[i] + "\" is not one of \"HS256\", \"RS256\", \"ES256\"", {}, i};
    }
    algorithms.push_back(*algorithm);
  }
  config.tenant.token.algorithms = std::move(algorithms);
  return std::nullopt;
}

SettingValue get_algorithms(const C& config) {
  Texts texts;
  for (const identity::Algorithm algorithm : config.tenant.token.algorithms) {
    texts.emplace_back(identity::to_string(algorithm));
  }
  return texts;
}

Problem check_claim(std::string_view text) {
  if (text.starts_with('/')) return check_pointer(text);
  if (!text.empty() && text.size() <= 256) return std::nullopt;
  return SettingProblem{"a claim's name or JSON pointer has 1 to 256 characters", "\"sub\"", {}};
}

Problem check_optional_claim(std::string_view text) {
  return text.empty() ? std::nullopt : check_claim(text);
}

Problem check_optional_field_name(std::string_view text) {
  return text.empty() ? std::nullopt : check_field_name(text);
}

Problem set_scope(RouteConfig& route, const SettingValue& value) {
  const auto* texts = std::get_if<Texts>(&value);
  if (texts == nullptr) return wrong_type("a list of strings", value);
  bool tenant = false;
  bool by_route = false;
  bool by_principal = false;
  for (std::size_t i = 0; i < texts->size(); ++i) {
    const std::string& part = (*texts)[i];
    bool* known = part == "tenant"      ? &tenant
                  : part == "route"     ? &by_route
                  : part == "principal" ? &by_principal
                                        : nullptr;
    if (known == nullptr) {
      return SettingProblem{
          "\"" + part + "\" is not one of \"tenant\", \"route\", \"principal\"", {}, i};
    }
    *known = true;
  }
  if (!tenant) {
    return SettingProblem{"does not have the tenant, and keys of two tenants must not meet",
                          "scope = [\"tenant\", \"route\"]",
                          {}};
  }
  route.scope_route = by_route;
  route.scope_principal = by_principal;
  return std::nullopt;
}

// Points to where a setting was made.
class Marks {
 public:
  explicit Marks(ConfigDraft& draft) : draft_(draft) {}

  void error(const std::string& name, const std::string& message, std::string hint) {
    draft_.errors.push_back(located(name, message, std::move(hint)));
  }
  void warning(const std::string& name, const std::string& message, std::string hint) {
    draft_.warnings.push_back(located(name, message, std::move(hint)));
  }
  void unused(const std::string& name, bool without_effect, std::string_view needs) {
    if (!without_effect || !draft_.is_set(name)) return;
    draft_.warnings.push_back(
        located(name, name + " has no effect without " + std::string(needs), ""));
  }

 private:
  ConfigError located(const std::string& name, std::string message, std::string hint) const {
    const auto found = draft_.positions.find(name);
    const SourcePosition at = found == draft_.positions.end() ? SourcePosition{} : found->second;
    if (!name.starts_with("route.") && !message.starts_with(name)) message = name + ": " + message;
    return {at.file, at.line, at.column, std::move(message), std::move(hint)};
  }

  ConfigDraft& draft_;
};

void check_trusted(const Config& config, Marks& marks) {
  const TenantConfig& tenant = config.tenant;
  if (is_loopback(config.listen)) return;
  if (tenant.trusted.contain_everything()) {
    marks.warning("tenant.trusted", "whoever reaches " + config.listen + " can name any tenant",
                  "only the addresses of the proxy that sets " + tenant.header);
  } else if (tenant.trusted.texts() == TenantConfig().trusted.texts()) {
    marks.warning("tenant.from",
                  "only requests from this machine are accepted: " + tenant.header +
                      " is taken from nobody else",
                  "tenant.trusted = [\"10.0.0.0/8\"], the addresses of the proxy that sets it");
  }
}

void check_token(const TenantConfig& tenant, Marks& marks) {
  if (tenant.keys.empty()) {
    marks.error("tenant.from", "the file with the keys that verify tokens is missing",
                "tenant.keys = \"jwks.json\"");
  }
  if (tenant.token.audiences.empty()) {
    marks.warning("tenant.from", "tokens that were made for other services are accepted",
                  "tenant.audience = \"payments\"");
  }
  if (!tenant.token.principal_claim.empty() && !tenant.principal_header.empty()) {
    marks.error("tenant.principal_header", "tenant.principal_claim names the principal already",
                "");
  }
}

}  // namespace

std::vector<Setting<Config>> tenant_settings() {
  return {
      choice_setting<C, TenantFrom>("tenant.from", AT(tenant.from), Names<TenantFrom>(from_names)),
      text_setting<C>("tenant.name", AT(tenant.name), check_tenant_name),
      text_setting<C>("tenant.header", AT(tenant.header), check_field_name),
      {"tenant.trusted", ValueKind::texts, set_trusted,
       [](const C& config) -> SettingValue { return config.tenant.trusted.texts(); }},
      text_setting<C>("tenant.api_key_header", AT(tenant.api_key_header), check_field_name),
      boolean_setting<C>("tenant.api_key_allow_jwt", AT(tenant.api_key_allow_jwt)),
      text_setting<C>("tenant.api_keys_file", AT(tenant.api_keys_file), check_anything),
      text_setting<C>("tenant.token_header", AT(tenant.token_header), check_field_name),
      text_setting<C>("tenant.keys", AT(tenant.keys), check_anything),
      {"tenant.algorithms", ValueKind::texts, set_algorithms, get_algorithms},
      text_setting<C>("tenant.claim", AT(tenant.token.claim), check_claim),
      names_setting("tenant.issuer", AT(tenant.token.issuers)),
      names_setting("tenant.audience", AT(tenant.token.audiences)),
      boolean_setting<C>("tenant.require_exp", AT(tenant.token.require_exp)),
      duration_setting<C>("tenant.leeway", AT(tenant.token.leeway_ms), 0, leeway_max_ms),
      size_setting<C>("tenant.token_max", AT(tenant.token.length_max), token_length_min,
                      token_length_limit),
      choice_setting<C, CertificatePart>("tenant.certificate", AT(tenant.certificate),
                                         Names<CertificatePart>(certificate_names)),
      text_setting<C>("tenant.principal_claim", AT(tenant.token.principal_claim),
                      check_optional_claim),
      text_setting<C>("tenant.principal_header", AT(tenant.principal_header),
                      check_optional_field_name),
  };
}

#undef AT

Setting<RouteConfig> scope_setting() {
  return {"scope", ValueKind::texts, set_scope, [](const RouteConfig& route) -> SettingValue {
            Texts texts{"tenant"};
            if (route.scope_route) texts.emplace_back("route");
            if (route.scope_principal) texts.emplace_back("principal");
            return texts;
          }};
}

void check_tenant(ConfigDraft& draft) {
  const Config& config = draft.config;
  const TenantConfig& tenant = config.tenant;
  Marks marks(draft);
  const bool header = tenant.from == TenantFrom::header;
  const bool api_key = tenant.from == TenantFrom::api_key;
  const bool jwt = tenant.from == TenantFrom::jwt;
  if (header) check_trusted(config, marks);
  if (jwt) check_token(tenant, marks);
  if (tenant.from == TenantFrom::mtls &&
      config.tls.client_certificates == http::ClientCertificates::none) {
    marks.error("tenant.from", "clients are not asked for certificates",
                "tls.client_certificates = \"required\"");
  }
  marks.unused("tenant.name", tenant.from != TenantFrom::single, "tenant.from = \"single\"");
  marks.unused("tenant.header", !header, "tenant.from = \"header\"");
  marks.unused("tenant.trusted", !header && tenant.principal_header.empty(),
               "tenant.from = \"header\"");
  for (const char* name : {"api_key_header", "api_key_allow_jwt", "api_keys_file"}) {
    marks.unused("tenant." + std::string(name), !api_key, "tenant.from = \"api_key\"");
  }
  for (const char* name : {"token_header", "keys", "algorithms", "claim", "issuer", "audience",
                           "require_exp", "leeway", "token_max", "principal_claim"}) {
    marks.unused("tenant." + std::string(name), !jwt, "tenant.from = \"jwt\"");
  }
  marks.unused("tenant.certificate", tenant.from != TenantFrom::mtls, "tenant.from = \"mtls\"");
  const bool has_principal =
      !tenant.principal_header.empty() || (jwt && !tenant.token.principal_claim.empty());
  const recovery::WebhookRules& webhook = config.webhook.rules;
  const bool told_by_tenant =
      !config.webhook.listen.empty() && webhook.scope.empty() && webhook.derived.empty();
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& route = config.routes[i];
    const std::string name = "route." + std::to_string(i) + ".scope";
    if (route.scope_principal && !has_principal) {
      marks.error(name, "scope: nothing says who the principal is",
                  "tenant.principal_header = \"X-User\", or with tokens tenant.principal_claim");
    }
    if (told_by_tenant && (route.scope_route || route.scope_principal)) {
      marks.warning(name, "scope: webhooks do not name it, so they find no record of this route",
                    "webhook.scope or webhook.derived");
    }
  }
}

}  // namespace oncekey::gateway
