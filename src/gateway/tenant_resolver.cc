#include "gateway/tenant_resolver.h"

namespace oncekey::gateway {
namespace {

// The first two lines of a header that should have one: more make no difference.
struct TwoLines {
  std::string_view values[2];
  std::size_t count = 0;

  std::span<const std::string_view> sent() const { return {values, count}; }
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

}  // namespace

TenantResolver::TenantResolver(const TenantConfig& config, std::string_view secret)
    : config_(config), secret_(secret) {}

Result<Caller, TenantError> TenantResolver::resolve(const CallerEvidence& evidence,
                                                    const RouteConfig&) {
  const TwoLines lines = header_lines(evidence.head, tenant_header(config_));
  Result<std::string, TenantError> tenant = resolve_tenant(config_, secret_, lines.sent());
  if (!tenant) return tenant.error();
  return Caller{*tenant, *tenant};
}

}  // namespace oncekey::gateway
