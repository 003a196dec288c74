#include "gateway/request_age.h"

#include "http/when.h"

namespace oncekey::gateway {

std::optional<TimestampMs> parse_first_sent(std::string_view text) {
  if (const auto date = http::parse_http_date(text)) return date;
  return http::parse_rfc3339(text);
}

RequestAge judge_age(const http::RequestHead& head, const RouteConfig& route, TimestampMs now) {
  using Verdict = RequestAge::Verdict;
  RequestAge age;
  if (route.max_age_ms == 0) return age;
  std::size_t lines = 0;
  for (const http::Field& field : head.fields) {
    if (!http::equals_ignoring_case(field.name, route.age_header)) continue;
    age.first_sent = field.value;
    ++lines;
  }
  if (lines == 0) {
    if (route.age_required) age.verdict = Verdict::missing;
    return age;
  }
  const std::optional<TimestampMs> sent = parse_first_sent(age.first_sent);
  if (lines > 1 || !sent) {
    age.verdict = Verdict::invalid;
  } else if (now - *sent > route.max_age_ms) {
    age.verdict = Verdict::too_old;
  } else if (*sent - now > route.age_leeway_ms) {
    age.verdict = Verdict::too_new;
  }
  return age;
}

}  // namespace oncekey::gateway
