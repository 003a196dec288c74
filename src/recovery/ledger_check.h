// Compares the provider's ledger with our records, in both directions (SPEC B3). Changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "oncekey/record.h"
#include "recovery/ledger_page.h"
#include "recovery/prober.h"
#include "store/committer.h"

namespace oncekey::recovery {

enum class DifferenceKind : std::uint8_t {
  charge_without_record,     // executed there, and no record has its key
  record_says_not_executed,  // executed there; ours may run again, or was answered as refused
  record_without_charge,     // answered as executed here, and not in the ledger
  charged_twice,             // executed there twice under one key
  amount_differs,
};
std::string_view to_string(DifferenceKind kind);

struct Difference {
  DifferenceKind kind;
  RecordId record;     // empty: there is none
  std::string charge;  // the provider's id; "": there is none
  std::string key;     // as the provider has it, or would
  std::string ours;    // amount or state
  std::string theirs;
  TimestampMs at = 0;
};

struct LedgerCounts {
  std::size_t charges = 0;  // of the window
  std::size_t records = 0;  // of the window, that say executed
  std::size_t differences = 0;
  std::size_t undecided = 0;  // charges whose record is unknown or in progress: being settled
  std::string error;          // why it could not be finished; "": it was
};

class LedgerCheck {
 public:
  struct Parts {
    store::Committer& committer;
    Prober& prober;
    LedgerRules rules;
    std::function<bool(const Record&)> concerns;  // records that ought to have a charge
    std::function<TimestampMs()> clock;
    std::function<void(const Difference&)> report;
  };
  // Records in memory at a time. When there are more, both sides are gone through again for each
  // part of them.
  static constexpr std::size_t records_in_memory_max = 1'000'000;

  explicit LedgerCheck(Parts parts, std::size_t in_memory_max = records_in_memory_max)
      : parts_(std::move(parts)), in_memory_max_(in_memory_max) {}

  LedgerCounts run_once();

 private:
  struct Ours {
    RecordId id;
    State state = State::completed;
    TimestampMs created_at = 0;
    bool charged = false;
  };
  using OursByKey = std::unordered_map<std::string, Ours>;
  struct Part {
    std::size_t number = 0;
    std::size_t of = 1;
    TimestampMs from = 0;  // the window
    TimestampMs to = 0;
    OursByKey ours;
    LedgerCounts& counts;
  };
  struct Kept {  // of a completed record
    bool refused = false;
    std::string amount;
  };

  bool for_each_record(LedgerCounts& counts, const std::function<void(const Record&)>& visit);
  bool for_each_charge(LedgerCounts& counts, const std::function<void(const Charge&)>& visit);
  void compare(const Charge& charge, Part& part);
  void compare_amounts(const Charge& charge, const Ours& ours, const Kept& kept, Part& part);
  void report_uncharged(Part& part);
  std::optional<Kept> look_up(const RecordId& id, LedgerCounts& counts);
  void report(Difference difference, Part& part);
  std::string key_there(const RecordId& id) const;

  Parts parts_;
  std::size_t in_memory_max_;
};

}  // namespace oncekey::recovery
