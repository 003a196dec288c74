// Who sends a request, from its credentials alone: never from its body. One resolver for each loop
// and configuration, so that what it remembers needs no locks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/config.h"
#include "gateway/tenant.h"
#include "gateway/tenant_files.h"
#include "http/exchange.h"
#include "http/peer_certificate.h"
#include "identity/verified_tokens.h"
#include "oncekey/result.h"

namespace oncekey::gateway {

struct Caller {
  std::string tenant;  // whose limits count
  std::string scope;   // of the records: the tenant, and what the route's `scope` adds to it
};

// What a request shows of its sender.
struct CallerEvidence {
  const http::RequestHead& head;
  std::string_view peer;                               // address without port
  const http::PeerCertificate* certificate = nullptr;  // null: the connection has none
  TimestampMs now_ms = 0;                              // by the wall clock
};

inline CallerEvidence evidence_of(const http::Exchange& exchange, TimestampMs now_ms) {
  return {exchange.head(), exchange.peer(), exchange.peer_certificate(), now_ms};
}

class TenantResolver {
 public:
  // `config` and `secret` must outlive it.
  TenantResolver(const TenantConfig& config, std::string_view secret,
                 std::shared_ptr<TenantFiles> files);

  // An error is answered 401, before anything is stored or sent.
  Result<Caller, TenantError> resolve(const CallerEvidence& evidence, const RouteConfig& route);

 private:
  struct Named {
    std::string tenant;
    std::optional<identity::ClaimValue> principal;  // as a token has it
  };

  Result<Named, TenantError> find_tenant(const CallerEvidence& evidence);
  Result<Named, TenantError> from_api_key(const CallerEvidence& evidence);
  Result<Named, TenantError> from_token(const CallerEvidence& evidence);
  Result<identity::VerifiedToken, identity::TokenError> verified(std::string_view token,
                                                                 TimestampMs now);
  Result<Named, TenantError> from_certificate(const CallerEvidence& evidence) const;
  Result<std::string, TenantError> find_principal_header(const CallerEvidence& evidence) const;
  void refresh(TimestampMs now);

  const TenantConfig& config_;
  std::string_view secret_;
  std::shared_ptr<TenantFiles> files_;
  TimestampMs refreshed_at_ = 0;
  std::shared_ptr<const identity::KeySet> token_keys_;
  std::shared_ptr<const ApiKeys> api_keys_;
  identity::VerifiedTokens tokens_;
};

}  // namespace oncekey::gateway
