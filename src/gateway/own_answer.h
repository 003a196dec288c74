// Sends an answer of the gateway's own: a refusal, a conflict, an unknown outcome.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "boundary/answer.h"
#include "gateway/context.h"
#include "http/exchange.h"

namespace oncekey::gateway {

struct OwnAnswer {
  AnswerCase answer_case;
  const RouteConfig* route = nullptr;  // null: the defaults
  std::string_view detail;             // "": the case's own sentence
  std::optional<DurationMs> retry_after_ms;
  int status = 0;            // 0: the case's own
  std::string_view key;      // echoed when there is one
  bool unprotected = false;  // the request went on without a reservation (fail_open)
  bool no_store = false;     // an answer to GET that no cache may keep
};

// Returns the answer's instance, which the log repeats.
http::Task<std::string> send_own_answer(const Context& context, http::Exchange& exchange,
                                        const OwnAnswer& own);

// `Date` for answers that no upstream has dated.
void add_date(http::ResponseStart& start);

}  // namespace oncekey::gateway
