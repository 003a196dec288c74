#include "recovery/ledger_check.h"

#include "boundary/json_document.h"
#include "boundary/response_codec.h"
#include "oncekey/derived_key.h"
#include "recovery/placeholders.h"

namespace oncekey::recovery {
namespace {

constexpr std::size_t page_size = 1'000;
constexpr std::size_t page_bytes_max = 16 << 20;
constexpr std::string_view after_placeholder = "{after}";
constexpr int refused_status_from = 400;

std::string page_url(const std::string& get, const std::string& after) {
  std::string url = get;
  const std::size_t place = url.find(after_placeholder);
  if (place != url.npos) {
    const std::string encoded = fill_in("{key}", PlaceholderUse::url, {"", after});
    url.replace(place, after_placeholder.size(), encoded);
  }
  return url;
}

std::size_t part_of(const std::string& key, std::size_t parts) {
  return std::hash<std::string>{}(key) % parts;
}

}  // namespace

std::string_view to_string(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::charge_without_record:
      return "charge_without_record";
    case DifferenceKind::record_says_not_executed:
      return "record_says_not_executed";
    case DifferenceKind::record_without_charge:
      return "record_without_charge";
    case DifferenceKind::charged_twice:
      return "charged_twice";
    case DifferenceKind::amount_differs:
      return "amount_differs";
  }
  return "";
}

LedgerCounts LedgerCheck::run_once() {
  LedgerCounts counts;
  const TimestampMs now = parts_.clock();
  std::size_t records = 0;
  if (!for_each_record(counts, [&](const Record&) { ++records; })) return counts;
  const std::size_t parts = records / in_memory_max_ + 1;
  for (std::size_t number = 0; number < parts; ++number) {
    Part part{number, parts, now - parts_.rules.window_ms, now - parts_.rules.margin_ms,
              {},     counts};
    const bool loaded = for_each_record(counts, [&](const Record& record) {
      std::string key = key_there(record.id);
      if (part_of(key, parts) != number) return;
      part.ours[std::move(key)] = {record.id, record.state, record.created_at, false};
    });
    if (!loaded) return counts;
    const bool compared = for_each_charge(counts, [&](const Charge& charge) {
      if (part_of(charge.key, parts) == number) compare(charge, part);
    });
    // Half a ledger would make every other record look uncharged.
    if (!compared) return counts;
    report_uncharged(part);
  }
  return counts;
}

bool LedgerCheck::for_each_record(LedgerCounts& counts,
                                  const std::function<void(const Record&)>& visit) {
  std::optional<RecordId> after;
  for (;;) {
    List list;
    list.after = after;
    list.limit = page_size;
    Operation operation = std::move(list);
    parts_.committer.apply_now(operation);
    const auto& outcome = std::get<List>(operation).outcome;
    if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      counts.error = unavailable->reason;
      return false;
    }
    const auto& page = std::get<std::vector<Record>>(outcome);
    for (const Record& record : page) {
      if (parts_.concerns(record)) visit(record);
    }
    if (page.size() < page_size) return true;
    after = page.back().id;
  }
}

bool LedgerCheck::for_each_charge(LedgerCounts& counts,
                                  const std::function<void(const Charge&)>& visit) {
  ProbeRequest request;
  for (const std::string& header : parts_.rules.headers) {
    request.fields += fill_in(header, PlaceholderUse::header, {}) + "\r\n";
  }
  request.timeout_ms = parts_.rules.timeout_ms;
  request.response_limit = page_bytes_max;
  request.tls = parts_.rules.tls;
  std::string after = parts_.rules.first;
  for (;;) {
    request.url = page_url(parts_.rules.get, after);
    const ProbeAnswer answer = parts_.prober.ask({request}).front();
    if (answer.status != 200 || answer.body_cut) {
      counts.error = "the ledger was not answered: " + answer.error;
      if (answer.status != 0)
        counts.error = "the ledger was answered with status " + std::to_string(answer.status);
      if (answer.body_cut) counts.error = "a page of the ledger is too long";
      return false;
    }
    const auto page = read_ledger_page(parts_.rules, answer.body);
    if (!page) {
      counts.error = page.error();
      return false;
    }
    for (const Charge& charge : page->charges) visit(charge);
    if (!page->next || *page->next == after) return true;
    after = *page->next;
  }
}

void LedgerCheck::compare(const Charge& charge, Part& part) {
  const bool in_window = charge.time >= part.from && charge.time < part.to;
  if (in_window) ++part.counts.charges;
  const auto found = part.ours.find(charge.key);
  if (found == part.ours.end() || charge.key.empty()) {
    if (!charge.executed || !in_window) return;
    report({DifferenceKind::charge_without_record,
            {},
            charge.id,
            charge.key,
            "",
            charge.amount,
            charge.time},
           part);
    return;
  }
  Ours& ours = found->second;
  const bool charged_before = ours.charged;
  ours.charged = ours.charged || charge.executed;
  if (!charge.executed || !in_window) return;
  if (charged_before) {
    report({DifferenceKind::charged_twice, ours.id, charge.id, charge.key, "", charge.amount,
            charge.time},
           part);
  }
  switch (ours.state) {
    case State::in_progress:
    case State::unknown:
      ++part.counts.undecided;
      return;
    case State::expired:
      return;
    case State::failed_retryable:
      report({DifferenceKind::record_says_not_executed, ours.id, charge.id, charge.key,
              std::string(to_string(ours.state)), charge.amount, charge.time},
             part);
      return;
    case State::completed:
      break;
  }
  if (const auto kept = look_up(ours.id, part.counts)) {
    compare_amounts(charge, ours, *kept, part);
  }
}

void LedgerCheck::compare_amounts(const Charge& charge, const Ours& ours, const Kept& kept,
                                  Part& part) {
  if (kept.refused) {
    report({DifferenceKind::record_says_not_executed, ours.id, charge.id, charge.key,
            "answered as refused", charge.amount, charge.time},
           part);
  } else if (!charge.amount.empty() && !kept.amount.empty() && charge.amount != kept.amount) {
    report({DifferenceKind::amount_differs, ours.id, charge.id, charge.key, kept.amount,
            charge.amount, charge.time},
           part);
  }
}

void LedgerCheck::report_uncharged(Part& part) {
  for (const auto& [key, ours] : part.ours) {
    if (ours.created_at < part.from || ours.created_at >= part.to) continue;
    if (ours.state != State::completed && ours.state != State::expired) continue;
    Kept kept;
    if (ours.state == State::completed) {
      const auto found = look_up(ours.id, part.counts);
      if (!found || found->refused) continue;
      kept = *found;
    }
    ++part.counts.records;
    if (ours.charged) continue;
    report(
        {DifferenceKind::record_without_charge, ours.id, "", key, kept.amount, "", ours.created_at},
        part);
  }
}

std::optional<LedgerCheck::Kept> LedgerCheck::look_up(const RecordId& id, LedgerCounts& counts) {
  Get get;
  get.id = id;
  Operation operation = std::move(get);
  parts_.committer.apply_now(operation);
  auto& outcome = std::get<Get>(operation).outcome;
  if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    counts.error = unavailable->reason;
    return std::nullopt;
  }
  const auto& record = std::get<std::optional<Record>>(outcome);
  if (!record) return std::nullopt;
  Kept kept;
  if (!record->response) return kept;
  kept.refused = record->response->status >= refused_status_from;
  if (!parts_.rules.our_amount.empty()) {
    if (const auto body = unpack_body(*record->response)) {
      kept.amount = JsonDocument(*body).text_at(parts_.rules.our_amount).value_or("");
    }
  }
  return kept;
}

void LedgerCheck::report(Difference difference, Part& part) {
  ++part.counts.differences;
  parts_.report(difference);
}

std::string LedgerCheck::key_there(const RecordId& id) const {
  return parts_.rules.phase.empty() ? id.key : derive_key(id, parts_.rules.phase);
}

}  // namespace oncekey::recovery
