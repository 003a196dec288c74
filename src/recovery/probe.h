// A question to whoever knows what became of a request, and how its answer is to be read. Pure: the
// asking is prober.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "http/tls_options.h"
#include "oncekey/record.h"
#include "recovery/answer_rules.h"

namespace oncekey::recovery {

struct ProbeRules {
  std::string get;                   // "": there is nobody to ask
  std::vector<std::string> headers;  // "Name: value", with placeholders
  int executed = 200;                // status of an answer about an operation that exists
  int absent = 404;                  // status that says that there is none
  std::string found;                 // pointer that leads nowhere when there is none; "": not used
  std::string state;                 // pointer to what became of it; "": that it exists is enough
  std::vector<std::string> executed_states;
  std::vector<std::string> declined_states;  // created, then declined: done, and not to be retried
  std::vector<std::string> absent_states;
  AnswerRules answer;
  std::size_t response_limit = 1 << 20;
  http::ClientTlsOptions tls;  // where `get` begins with https://

  DurationMs timeout_ms = 10'000;
  DurationMs every_ms = 30'000;         // first, and between the first probes
  DurationMs every_max_ms = 3'600'000;  // the pauses grow with the record's age up to this
  // A request that is still on its way has not arrived yet: "absent" is believed only of a record
  // that has been unknown for longer.
  DurationMs absent_after_ms = 60'000;
  DurationMs give_up_after_ms = 24LL * 3600 * 1000;  // then an operator has to decide
};

// How long a record counts as being asked about: the probe's own time, and some for the store to
// write down what was found.
inline DurationMs asking_ms(const ProbeRules& rules) {
  constexpr DurationMs margin_ms = 5'000;
  return rules.timeout_ms + margin_ms;
}

struct ProbeAnswer {
  int status = 0;  // 0: none came
  std::vector<Header> headers;
  std::string body;
  bool body_cut = false;  // longer than response_limit
  std::string error;      // why none came
};

struct FoundExecuted {
  std::shared_ptr<const StoredResponse> response;
};
struct FoundAbsent {};
struct NotSure {
  std::string reason;
};
using Finding = std::variant<NotSure, FoundExecuted, FoundAbsent>;

Finding judge(const ProbeRules& rules, const ProbeAnswer& answer);

}  // namespace oncekey::recovery
