#include "gateway/tenant_resolver.h"

#include <gtest/gtest.h>

#include <set>

namespace oncekey::gateway {
namespace {

using Reason = TenantError::Reason;
using Lines = std::vector<std::string_view>;

constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";

TenantConfig from_header() {
  TenantConfig config;
  config.from = TenantFrom::header;
  return config;
}

TenantConfig from_api_key() {
  TenantConfig config;
  config.from = TenantFrom::api_key;
  return config;
}

// Of a request from this machine with these lines of the tenant's header.
Result<std::string, TenantError> resolve_tenant(const TenantConfig& config, std::string_view key,
                                                const Lines& lines) {
  http::RequestHead head;
  for (const std::string_view line : lines) {
    head.fields.push_back({http::FieldId::other, tenant_header(config), line});
  }
  TenantResolver resolver(config, key, open_tenant_files(config, nullptr));
  const auto caller = resolver.resolve({head, "127.0.0.1"}, {});
  if (!caller) return caller.error();
  EXPECT_EQ(caller->tenant, caller->scope);
  return caller->scope;
}

std::string scope(const TenantConfig& config, const Lines& lines) {
  Result<std::string, TenantError> result = resolve_tenant(config, secret, lines);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().detail);
  return result.ok() ? result.value() : "";
}

Reason refusal(const TenantConfig& config, const Lines& lines) {
  Result<std::string, TenantError> result = resolve_tenant(config, secret, lines);
  EXPECT_FALSE(result.ok()) << "accepted as " << (result.ok() ? result.value() : "");
  return result.ok() ? Reason{} : result.error().reason;
}

TEST(Tenant, SingleNeedsNoHeader) {
  const TenantConfig config;
  EXPECT_EQ(tenant_header(config), "");
  EXPECT_EQ(scope(config, {}), "default");
}

TEST(Tenant, HeaderValueIsTheScope) {
  EXPECT_EQ(tenant_header(from_header()), "X-Tenant");
  EXPECT_EQ(scope(from_header(), {"acme"}), "acme");
  EXPECT_EQ(scope(from_header(), {" acme\t"}), "acme");
  EXPECT_NE(scope(from_header(), {"acme"}), scope(from_header(), {"Acme"}));
}

TEST(Tenant, UnclearHeaderIsRefused) {
  const TenantConfig config = from_header();
  EXPECT_EQ(refusal(config, {}), Reason::missing);
  EXPECT_EQ(refusal(config, {"a", "a"}), Reason::several_lines);
  EXPECT_EQ(refusal(config, {""}), Reason::empty);
  EXPECT_EQ(refusal(config, {" \t"}), Reason::empty);
  const std::string longest(tenant_length_max, 'a');
  EXPECT_EQ(scope(config, {longest}), longest);
  const std::string longer = longest + "a";
  EXPECT_EQ(refusal(config, {longer}), Reason::too_long);
  for (std::string_view value : {"a,b", "a b", "a\x01", "a\x7f", "caf\xc3\xa9"}) {
    EXPECT_EQ(refusal(config, {value}), Reason::bad_character) << value;
  }
}

TEST(Tenant, HeaderCannotPoseAsAHashedApiKey) {
  const std::string hashed = scope(from_api_key(), {"Bearer sk_1"});
  EXPECT_EQ(refusal(from_header(), {hashed}), Reason::bad_character);
}

TEST(Tenant, ApiKeyIsHashedWithTheSecret) {
  EXPECT_EQ(tenant_header(from_api_key()), "Authorization");
  const std::string hashed = scope(from_api_key(), {"Bearer sk_live_1"});
  EXPECT_EQ(hashed.size(), 4u + 32u);
  EXPECT_TRUE(hashed.starts_with("key:"));
  EXPECT_EQ(hashed.find("sk_live"), hashed.npos);
  const Lines lines{"Bearer sk_live_1"};
  EXPECT_NE(resolve_tenant(from_api_key(), "another secret of this length", lines).value(), hashed);
}

// Scopes are stored: this value must not change between versions, or every retry runs again.
TEST(Tenant, HashOfAnApiKeyNeverChanges) {
  EXPECT_EQ(scope(from_api_key(), {"Bearer sk_live_1"}), "key:f52e5029be8dc2a5ed130aa6f07286f3");
}

TEST(Tenant, SameApiKeyIsTheSameTenantHoweverItIsSent) {
  const std::string hashed = scope(from_api_key(), {"Bearer k1"});
  EXPECT_EQ(scope(from_api_key(), {"bearer  k1 "}), hashed);
  EXPECT_EQ(scope(from_api_key(), {"BEARER k1"}), hashed);
  TenantConfig bare = from_api_key();
  bare.api_key_header = "X-Api-Key";
  EXPECT_EQ(tenant_header(bare), "X-Api-Key");
  EXPECT_EQ(scope(bare, {"k1"}), hashed);
}

TEST(Tenant, DifferentApiKeysAreDifferentTenants) {
  std::set<std::string> scopes;
  for (std::string_view value :
       {"Bearer a", "Bearer b", "Bearer A", "Basic a", "Basic b", "Bearer basic", "aa", "a.b"}) {
    scopes.insert(scope(from_api_key(), {value}));
  }
  EXPECT_EQ(scopes.size(), 8u);
}

TEST(Tenant, UnclearApiKeyIsRefused) {
  const TenantConfig config = from_api_key();
  EXPECT_EQ(refusal(config, {}), Reason::missing);
  EXPECT_EQ(refusal(config, {"Bearer a", "Bearer a"}), Reason::several_lines);
  EXPECT_EQ(refusal(config, {"  "}), Reason::empty);
  EXPECT_EQ(refusal(config, {"Bearer"}), Reason::empty);
  EXPECT_EQ(refusal(config, {"basic "}), Reason::empty);
  EXPECT_EQ(refusal(config, {"Bearer a b"}), Reason::bad_character);
  EXPECT_EQ(refusal(config, {"Bearer a\tb"}), Reason::bad_character);
  const std::string longer(api_key_length_max + 1, 'a');
  EXPECT_EQ(refusal(config, {longer}), Reason::too_long);
}

// With credentials that differ from request to request, every retry would be a new tenant's.
TEST(Tenant, CredentialsThatChangeAreRefused) {
  TenantConfig config = from_api_key();
  EXPECT_EQ(refusal(config, {"Digest username=\"a\", nonce=\"b\""}), Reason::unknown_scheme);
  EXPECT_EQ(refusal(config, {"AWS4-HMAC-SHA256 Credential=a"}), Reason::unknown_scheme);
  EXPECT_EQ(refusal(config, {"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}), Reason::token);
  config.api_key_allow_jwt = true;
  EXPECT_NE(scope(config, {"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}), "");
}

TEST(Tenant, RefusalNeverRepeatsTheCredentials) {
  const Lines lines{"Bearer topsecret topsecret"};
  EXPECT_EQ(resolve_tenant(from_api_key(), secret, lines).error().detail.find("topsecret"),
            std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
