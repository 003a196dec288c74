// A provider's ledger, page by page. Pure: the asking is ledger_check.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/tls_options.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::recovery {

struct LedgerRules {
  std::string get;  // a URL with {after}: where the page before it ended
  std::vector<std::string> headers;
  http::ClientTlsOptions tls;   // where it begins with https://
  std::string first;            // what {after} is for the first page
  std::string items = "/data";  // pointers into a page
  std::string next = "/next";   // what {after} is for the next page; nothing there: the last one
  std::string more;             // false there: the last one; "": not used
  std::string id = "/id";       // pointers into an item
  std::string key = "/idempotency_key";
  std::string amount;             // "": not compared
  std::string time = "/created";  // RFC 3339, or Unix time
  std::string state;              // "": every item counts as executed
  std::vector<std::string> executed_states;
  std::string kind;  // pointer; items of other kinds are left out
  std::vector<std::string> kinds;
  std::string phase;       // the key is derived from the record's; "": it is the record's
  std::string our_amount;  // pointer into the answer we keep, for `amount`
  DurationMs window_ms = 24LL * 3600 * 1000;  // how far back; not further than records are kept
  DurationMs margin_ms = 600'000;             // what is younger may still be under way
  DurationMs timeout_ms = 30'000;             // of a page
};

struct Charge {
  std::string id;
  std::string key;  // "": it has none
  std::string amount;
  TimestampMs time = 0;
  bool executed = true;
};

struct LedgerPage {
  std::vector<Charge> charges;  // of the kinds that are compared
  std::optional<std::string> next;
};

// The error says what is wrong with it.
Result<LedgerPage, std::string> read_ledger_page(const LedgerRules& rules, std::string_view body);

}  // namespace oncekey::recovery
