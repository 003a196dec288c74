#include "verify/check.h"

#include "boundary/json_document.h"

namespace oncekey::verify {
namespace {

struct Obstacle {
  Need need;
  std::string_view reason;
  bool (*present)(const Subject&);
};

constexpr Obstacle obstacles[] = {
    {Need::slow_header, "needs --slow-header: a header that makes the operation take a while",
     [](const Subject& s) { return !s.slow_header.empty(); }},
    {Need::fail_header, "needs --fail-header: a header that makes the operation answer 500",
     [](const Subject& s) { return !s.fail_header.empty(); }},
    {Need::other_tenant, "needs --other-tenant: a second tenant's credentials",
     [](const Subject& s) { return !s.other_tenant.empty(); }},
    {Need::credentials, "needs --tenant: credentials that can be left out",
     [](const Subject& s) { return !s.tenant.empty(); }},
    {Need::second_node, "needs --second-node: the URL of another node",
     [](const Subject& s) { return s.second_node.has_value(); }},
    {Need::json_body, "needs a body that is a JSON object",
     [](const Subject& s) {
       Operation sample{"", "u", 1, ""};
       return JsonDocument(fill_in(s.body, sample)).json_at("").value_or("").starts_with('{');
     }},
    {Need::body, "needs a body", [](const Subject& s) { return !s.body.empty(); }},
    {Need::other_path, "needs --other-path: a path that takes the same body",
     [](const Subject& s) { return !s.other_path.empty(); }},
    {Need::short_retention, "needs --expires-after: a retention short enough to wait for",
     [](const Subject& s) { return s.expires_after_ms > 0; }},
    {Need::slow, "slow; --slow runs it", [](const Subject& s) { return s.slow; }},
    {Need::risky, "could have effects of another kind; --risky runs it",
     [](const Subject& s) { return s.risky; }},
};

bool includes(Need all, Need one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

}  // namespace

int requests_of(const Cost& cost, const Subject& subject) {
  int count = 0;
  if (subject.effects) count = has_placeholder(subject.effects->place.target) ? 2 : 1;
  return cost.requests + cost.counts * count + cost.bursts * subject.burst;
}

std::string obstacle_to(const Check& check, const Subject& subject) {
  for (const Obstacle& obstacle : obstacles) {
    if (includes(check.needs, obstacle.need) && !obstacle.present(subject)) {
      return std::string(obstacle.reason);
    }
  }
  return "";
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto& group :
       {replay_checks(), once_checks(), running_checks(), mismatch_checks(), key_checks(),
        json_checks(), scope_checks(), time_checks(), wire_checks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace oncekey::verify
