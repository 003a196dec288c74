// What is to become of an unknown record after it was asked about. Pure.
//
// Between two probes everything that is known of an unknown record is in the record itself, so that
// any node can go on: since when, how often it was asked, and what was last found, in front of
// last_error in words that operators read as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"
#include "oncekey/store.h"
#include "recovery/probe.h"

namespace oncekey::recovery {

struct ReconcileNote {
  TimestampMs since = 0;     // when it was first looked at; whole seconds, never too early
  std::uint32_t probes = 0;  // answered or not
  std::string finding;       // of the last one
  std::string cause;         // why it became unknown in the first place
  bool for_operator = false;

  bool operator==(const ReconcileNote&) const = default;
};

std::string to_text(const ReconcileNote& note);
// Nothing: nobody has looked at it yet.
std::optional<ReconcileNote> parse_note(std::string_view last_error);

struct ReconcilePlan {
  Verdict verdict;
  bool to_operator = false;  // from now on an operator has to decide
};

// `now` is the store's time, as is the note's.
ReconcilePlan plan(const ProbeRules& rules, const Record& record, const Finding& finding,
                   TimestampMs now);

// Pauses grow in proportion to the time that the record has been unknown.
DurationMs next_probe_in(const ProbeRules& rules, DurationMs unknown_for);

}  // namespace oncekey::recovery
