#include "gateway/tls_settings.h"

#include <array>

#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"

namespace oncekey::gateway {
namespace {

using http::ClientCertificates;
using http::TlsVersion;

constexpr std::array<std::pair<ClientCertificates, std::string_view>, 3> certificates_names{
    {{ClientCertificates::none, "none"},
     {ClientCertificates::optional, "optional"},
     {ClientCertificates::required, "required"}}};
constexpr std::array<std::pair<TlsVersion, std::string_view>, 2> version_names{
    {{TlsVersion::v1_2, "1.2"}, {TlsVersion::v1_3, "1.3"}}};

std::optional<SettingProblem> check_server_name(std::string_view text) {
  const bool plain =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") ==
      std::string_view::npos;
  if (plain && text.size() <= 253) return std::nullopt;
  return SettingProblem{
      "\"" + std::string(text) + "\" is not a host's name", "server_name = \"api.example\"", {}};
}

class TlsRules {
 public:
  explicit TlsRules(ConfigDraft& draft) : draft_(draft), config_(draft.config) {}

  void check_clients() {
    const http::ServerTlsOptions& tls = config_.tls;
    pair("tls.", tls.cert, tls.key);
    if (tls.cert.empty() && tls.key.empty()) {
      for (const char* name : {"tls.client_ca", "tls.client_certificates", "tls.min_version"}) {
        if (draft_.is_set(name)) warn(name, " has no effect without tls.cert", "");
      }
      return;
    }
    const bool asked = tls.client_certificates != ClientCertificates::none;
    if (asked && tls.client_ca.empty()) {
      fail("tls.client_certificates", ": whose certificates are good?",
           "client_ca = \"clients.pem\", the authority that issues them");
    }
    if (!asked && !tls.client_ca.empty()) {
      warn("tls.client_ca", " has no effect without tls.client_certificates",
           "client_certificates = \"required\"");
    }
  }

  void check_upstream() {
    const http::ClientTlsOptions& tls = config_.upstream_tls;
    pair("upstream_tls.", tls.cert, tls.key);
    const bool secure = config_.upstream.starts_with("https://");
    for (const Setting<Config>& setting : tls_settings()) {
      const std::string name(setting.name);
      if (secure || !name.starts_with("upstream_tls.") || !draft_.is_set(name)) continue;
      warn(name, " has no effect without an upstream that begins with https://", "");
    }
    if (secure && !tls.verify) {
      warn("upstream_tls.verify", ": whoever is on the way to the upstream can read and answer",
           "upstream_tls.ca = \"upstream.pem\" trusts an authority of your own");
    }
    if (!tls.verify && !tls.ca.empty()) {
      warn("upstream_tls.ca", " has no effect without upstream_tls.verify", "");
    }
  }

 private:
  void pair(const std::string& group, const std::string& cert, const std::string& key) {
    if (cert.empty() == key.empty()) return;
    if (key.empty()) {
      fail(group + "cert", ": its key is missing", "key = \"key.pem\"");
    } else {
      fail(group + "key", ": its certificate is missing", "cert = \"cert.pem\"");
    }
  }

  ConfigError located(const std::string& name, std::string message, std::string hint) const {
    const auto found = draft_.positions.find(name);
    const SourcePosition at = found == draft_.positions.end() ? SourcePosition{} : found->second;
    return {at.file, at.line, at.column, name + std::move(message), std::move(hint)};
  }
  void fail(const std::string& name, std::string message, std::string hint) {
    draft_.errors.push_back(located(name, std::move(message), std::move(hint)));
  }
  void warn(const std::string& name, std::string message, std::string hint) {
    draft_.warnings.push_back(located(name, std::move(message), std::move(hint)));
  }

  ConfigDraft& draft_;
  const Config& config_;
};

}  // namespace

// A member of the target, for const and non-const targets alike.
#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

std::vector<Setting<Config>> tls_settings() {
  using C = Config;
  return {
      text_setting<C>("tls.cert", AT(tls.cert), check_anything),
      text_setting<C>("tls.key", AT(tls.key), check_anything),
      text_setting<C>("tls.client_ca", AT(tls.client_ca), check_anything),
      choice_setting<C, ClientCertificates>("tls.client_certificates", AT(tls.client_certificates),
                                            certificates_names),
      choice_setting<C, TlsVersion>("tls.min_version", AT(tls.min_version), version_names),
      text_setting<C>("upstream_tls.ca", AT(upstream_tls.ca), check_anything),
      boolean_setting<C>("upstream_tls.verify", AT(upstream_tls.verify)),
      text_setting<C>("upstream_tls.server_name", AT(upstream_tls.server_name), check_server_name),
      text_setting<C>("upstream_tls.cert", AT(upstream_tls.cert), check_anything),
      text_setting<C>("upstream_tls.key", AT(upstream_tls.key), check_anything),
      choice_setting<C, TlsVersion>("upstream_tls.min_version", AT(upstream_tls.min_version),
                                    version_names),
  };
}

#undef AT

void check_tls(ConfigDraft& draft) {
  TlsRules rules(draft);
  rules.check_clients();
  rules.check_upstream();
}

}  // namespace oncekey::gateway
