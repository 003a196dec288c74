#include "recovery/reconcile_plan.h"

#include <algorithm>
#include <charconv>

#include "boundary/answer.h"
#include "recovery/instant.h"

namespace oncekey::recovery {
namespace {

constexpr std::string_view operator_words = "an operator has to decide; ";
constexpr std::string_view probe_word = "probe ";
constexpr std::string_view since_words = ", unknown since ";
constexpr std::string_view cause_words = "; at first: ";
constexpr std::size_t words_max = 500;  // of a finding or a cause: records stay small

bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

TimestampMs whole_second_after(TimestampMs time) {
  constexpr TimestampMs second = 1'000;
  return (time + second - 1) / second * second;
}

ReconcileNote note_of(const Record& record, TimestampMs now) {
  if (auto note = parse_note(record.last_error)) return *note;
  ReconcileNote first;
  first.since = whole_second_after(now);
  first.cause = record.last_error.substr(0, words_max);
  return first;
}

}  // namespace

std::string to_text(const ReconcileNote& note) {
  std::string text(note.for_operator ? operator_words : "");
  text.append(probe_word).append(std::to_string(note.probes)).append(since_words);
  text.append(format_rfc3339(note.since)).append(": ").append(note.finding, 0, words_max);
  if (!note.cause.empty()) text.append(cause_words).append(note.cause);
  return text;
}

std::optional<ReconcileNote> parse_note(std::string_view text) {
  ReconcileNote note;
  note.for_operator = take(text, operator_words);
  if (!take(text, probe_word)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), note.probes);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!take(text, since_words)) return std::nullopt;
  const std::size_t colon = text.find(": ");
  const std::optional<TimestampMs> since = parse_instant(text.substr(0, colon));
  if (colon == text.npos || !since) return std::nullopt;
  note.since = *since;
  text.remove_prefix(colon + 2);
  const std::size_t cause = text.find(cause_words);
  note.finding = text.substr(0, cause);
  if (cause != text.npos) note.cause = text.substr(cause + cause_words.size());
  return note;
}

DurationMs next_probe_in(const ProbeRules& rules, DurationMs unknown_for) {
  const DurationMs every_max = std::max(rules.every_ms, rules.every_max_ms);
  return std::clamp(unknown_for / 2, rules.every_ms, every_max);
}

ReconcilePlan plan(const ProbeRules& rules, const Record& record, const Finding& finding,
                   TimestampMs now) {
  if (const auto* executed = std::get_if<FoundExecuted>(&finding)) {
    return {SettleCompleted{executed->response}, false};
  }
  ReconcileNote note = note_of(record, now);
  const DurationMs unknown_for = std::max<DurationMs>(0, now - note.since);
  DurationMs pause = next_probe_in(rules, unknown_for);
  if (std::holds_alternative<FoundAbsent>(finding)) {
    if (unknown_for >= rules.absent_after_ms) {
      return {SettleFailed{"the probe found that it was never executed"}, false};
    }
    note.finding = "not found so far";
    pause = std::min(pause, rules.absent_after_ms - unknown_for + 1);
  } else {
    note.finding = std::get<NotSure>(finding).reason;
  }
  ++note.probes;
  const bool was_for_operator = note.for_operator;
  note.for_operator = was_for_operator || unknown_for >= rules.give_up_after_ms;
  return {SettleUnknown{to_text(note), pause}, note.for_operator && !was_for_operator};
}

}  // namespace oncekey::recovery
