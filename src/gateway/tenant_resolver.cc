#include "gateway/tenant_resolver.h"

#include <cstdlib>

#include "gateway/scope_text.h"
#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

using identity::ClaimValue;
using identity::TokenError;
using identity::VerifiedToken;
using identity::VerifiedTokens;
using Reason = TenantError::Reason;

// The first two lines of a header that should have one: more make no difference.
struct TwoLines {
  std::string_view values[2];
  std::size_t count = 0;

  HeaderLines sent() const { return {values, count}; }
};

TwoLines header_lines(const http::RequestHead& head, std::string_view name) {
  TwoLines lines;
  for (const http::Field& field : head.fields) {
    if (lines.count < 2 && http::equals_ignoring_case(field.name, name)) {
      lines.values[lines.count++] = field.value;
    }
  }
  return lines;
}

TenantError untrusted(const std::string& header) {
  return {Reason::untrusted, "The header " + header +
                                 " is only taken from addresses in tenant.trusted, and this "
                                 "connection does not come from one of them."};
}

// Exactly one: of several names, none can be told to be the tenant's.
const std::string* only(const std::vector<std::string>& names) {
  return names.size() == 1 && !names.front().empty() ? &names.front() : nullptr;
}

const std::string* part_of(const http::PeerCertificate& certificate, CertificatePart part) {
  const auto unless_empty = [](const std::string& text) { return text.empty() ? nullptr : &text; };
  switch (part) {
    case CertificatePart::common_name:
      return unless_empty(certificate.common_name);
    case CertificatePart::subject:
      return unless_empty(certificate.subject);
    case CertificatePart::dns:
      return only(certificate.dns_names);
    case CertificatePart::uri:
      return only(certificate.uris);
    case CertificatePart::sha256:
      return unless_empty(certificate.sha256);
  }
  ONCEKEY_ASSERT(false);
}

std::string_view word_of(CertificatePart part) {
  switch (part) {
    case CertificatePart::common_name:
      return "common_name";
    case CertificatePart::subject:
      return "subject";
    case CertificatePart::dns:
      return "dns";
    case CertificatePart::uri:
      return "uri";
    case CertificatePart::sha256:
      return "sha256";
  }
  ONCEKEY_ASSERT(false);
}

}  // namespace

TenantResolver::TenantResolver(const TenantConfig& config, std::string_view secret,
                               std::shared_ptr<TenantFiles> files)
    : config_(config), secret_(secret), files_(std::move(files)) {}

Result<Caller, TenantError> TenantResolver::resolve(const CallerEvidence& evidence,
                                                    const RouteConfig& route) {
  Result<Named, TenantError> named = find_tenant(evidence);
  if (!named) return named.error();
  if (!route.scope_route && !route.scope_principal) return Caller{named->tenant, named->tenant};
  ScopeText scope(named->tenant);
  if (route.scope_route) scope.extend("route", route.match);
  if (route.scope_principal && !config_.principal_header.empty()) {
    const Result<std::string, TenantError> principal = find_principal_header(evidence);
    if (!principal) return principal.error();
    scope.extend("principal", *principal);
  } else if (route.scope_principal) {
    if (!named->principal) {
      return TenantError{Reason::refused, "The token does not say which principal uses it."};
    }
    if (named->principal->is_number) {
      scope.extend_number("principal", named->principal->text);
    } else {
      scope.extend("principal", named->principal->text);
    }
  }
  return Caller{std::move(named->tenant), scope.bounded()};
}

Result<TenantResolver::Named, TenantError> TenantResolver::find_tenant(
    const CallerEvidence& evidence) {
  switch (config_.from) {
    case TenantFrom::single:
      return Named{config_.name, {}};
    case TenantFrom::header: {
      const TwoLines lines = header_lines(evidence.head, config_.header);
      if (lines.count > 0 && !config_.trusted.contain(evidence.peer)) {
        return untrusted(config_.header);
      }
      Result<std::string, TenantError> tenant = header_tenant(config_, lines.sent());
      if (!tenant) return tenant.error();
      return Named{std::move(*tenant), {}};
    }
    case TenantFrom::api_key:
      return from_api_key(evidence);
    case TenantFrom::jwt:
      return from_token(evidence);
    case TenantFrom::mtls:
      return from_certificate(evidence);
  }
  ONCEKEY_ASSERT(false);
}

Result<TenantResolver::Named, TenantError> TenantResolver::from_api_key(
    const CallerEvidence& evidence) {
  const TwoLines lines = header_lines(evidence.head, config_.api_key_header);
  const Result<ApiKey, TenantError> sent = read_api_key(config_, lines.sent());
  if (!sent) return sent.error();
  if (!files_->api_keys) return Named{hashed_tenant(secret_, *sent), {}};
  refresh(evidence.now_ms);
  const std::string* tenant = sent->scheme.empty() ? api_keys_->find(sent->key) : nullptr;
  if (tenant == nullptr) {
    return TenantError{Reason::refused, "The API key in the header " + config_.api_key_header +
                                            " is not known here."};
  }
  return Named{ScopeText("api_key").add("name", *tenant).bounded(), {}};
}

Result<TenantResolver::Named, TenantError> TenantResolver::from_token(
    const CallerEvidence& evidence) {
  const TwoLines lines = header_lines(evidence.head, config_.token_header);
  const Result<std::string_view, TenantError> sent = read_token(config_, lines.sent());
  if (!sent) return sent.error();
  const Result<VerifiedToken, TokenError> token = verified(*sent, evidence.now_ms);
  if (!token) {
    return TenantError{Reason::refused, "The token in the header " + config_.token_header + " " +
                                            token.error().detail + "."};
  }
  ScopeText text("jwt");
  if (token->subject.is_number) {
    text.add_number(config_.token.claim, token->subject.text);
  } else {
    text.add(config_.token.claim, token->subject.text);
  }
  if (token->issuer) text.add("iss", *token->issuer);
  return Named{text.bounded(), token->principal};
}

Result<VerifiedToken, TokenError> TenantResolver::verified(std::string_view token,
                                                           TimestampMs now) {
  refresh(now);
  const VerifiedTokens::Digest digest = VerifiedTokens::digest_of(token);
  if (const VerifiedToken* known = tokens_.find(digest)) {
    if (auto problem = check_times(*known, config_.token, now)) return *problem;
    return *known;
  }
  Result<VerifiedToken, TokenError> fresh =
      identity::verify_token(token, *token_keys_, config_.token, now);
  if (fresh) tokens_.insert(digest, *fresh);
  return fresh;
}

Result<TenantResolver::Named, TenantError> TenantResolver::from_certificate(
    const CallerEvidence& evidence) const {
  if (evidence.certificate == nullptr) {
    return TenantError{Reason::missing, "The connection has no client certificate."};
  }
  const std::string* part = part_of(*evidence.certificate, config_.certificate);
  if (part == nullptr) {
    return TenantError{Reason::refused, "The client certificate does not have exactly one " +
                                            std::string(word_of(config_.certificate)) +
                                            " that names a tenant."};
  }
  return Named{ScopeText("mtls").add(word_of(config_.certificate), *part).bounded(), {}};
}

Result<std::string, TenantError> TenantResolver::find_principal_header(
    const CallerEvidence& evidence) const {
  const TwoLines lines = header_lines(evidence.head, config_.principal_header);
  if (lines.count > 0 && !config_.trusted.contain(evidence.peer)) {
    return untrusted(config_.principal_header);
  }
  const auto value = proxy_value(config_.principal_header, lines.sent());
  if (!value) return value.error();
  return std::string(*value);
}

// The files are shared by all loops; each asks them once a second.
void TenantResolver::refresh(TimestampMs now) {
  const bool first = !token_keys_ && !api_keys_;
  if (!first && std::abs(now - refreshed_at_) < identity::file_look_every_ms) return;
  refreshed_at_ = now;
  if (files_->api_keys) api_keys_ = files_->api_keys->current(now);
  if (!files_->token_keys) return;
  std::shared_ptr<const identity::KeySet> keys = files_->token_keys->current(now);
  if (keys == token_keys_) return;
  tokens_.clear();  // they were verified with keys that may be gone
  token_keys_ = std::move(keys);
}

}  // namespace oncekey::gateway
