// The API that is verified: what to send it, as whom, and how to see what it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/address.h"
#include "http/tls_context.h"
#include "oncekey/client.h"
#include "verify/profile.h"

namespace oncekey::verify {

struct Place {
  http::HttpUrl server;
  std::string target;  // path with query

  bool local() const;  // this machine, by name or loopback address
};

// http://host[:port][/path][?query], or https://. The reason says what to do instead.
Result<Place, std::string> parse_place(std::string_view url);

struct Effects {
  Place place;          // {{uuid}} and {{n}} in its target are those of the operation
  std::string pointer;  // to a list, whose elements count, or to a number
};

inline constexpr int burst_default = 20;
inline constexpr int burst_max = 500;
inline constexpr int requests_default = 500;
inline constexpr DurationMs timeout_default_ms = 10'000;
// How long the first of two overlapping requests has before the second follows.
inline constexpr DurationMs head_start_default_ms = 150;
inline constexpr DurationMs later_default_ms = 5'000;

struct Subject {
  std::string url;  // as given, for the report
  Place place;
  std::optional<Place> second_node;
  std::string method = "POST";
  std::string body;  // a template: {{uuid}}, {{n}}
  std::string content_type = "application/json";
  std::string key_header = "Idempotency-Key";
  bool quoted_keys = false;
  std::string user_agent = "oncekey-verify";
  std::vector<Header> headers;  // of every request
  std::vector<Header> tenant;
  std::vector<Header> other_tenant;  // empty: there is one tenant
  std::optional<Effects> effects;
  std::string id_pointer;           // to the created thing's id in an answer; "": none
  std::vector<Header> slow_header;  // makes the operation take a while; at most one
  std::vector<Header> fail_header;  // makes it answer 5xx, having done nothing; at most one
  std::string other_path;           // takes the same body; "": none
  DurationMs expires_after_ms = 0;  // the retention, when it is short enough to wait for
  DurationMs later_ms = later_default_ms;
  DurationMs head_start_ms = head_start_default_ms;
  DurationMs timeout_ms = timeout_default_ms;
  std::shared_ptr<const http::ClientTls> tls;  // never null where a place is https
  int burst = burst_default;
  int requests_max = requests_default;
  bool slow = false;
  bool risky = false;
  Expectations expected;
};

}  // namespace oncekey::verify
