// For work that has a key of its own: the order's number, the invoice of a month. Two ways to do it
// once without an idempotency key, both inside the caller's transaction.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/transaction.h"

namespace oncekey {

// A name for Transaction::lock(), readable, and another one for every list of parts:
//   transaction.lock(natural_key({"order", order_id}));   // nobody else is past this line
//   … SELECT; nothing there: INSERT …
std::string natural_key(std::initializer_list<std::string_view> parts);

enum class Dialect { sqlite, postgresql };

// INSERT or UPDATE of one row of the caller's own table that never touches a row in a final state:
// a late or repeated event cannot turn "refunded" back into "paid".
struct GuardedUpsert {
  std::string table;                      // "payments" or "shop.payments"
  std::vector<std::string> key;           // the columns of a unique constraint
  std::vector<std::string> values;        // the other columns that are written
  std::string state;                      // the one of `values` that says how far the row is
  std::vector<std::string> final_states;  // as text; null is never final
};

// The statement. Its parameters are the key's columns and then the values', in their order ($1… or
// ?1…). It changed one row: written. None: the row is in a final state, and was left as it is.
// Names are quoted, so they are those of the catalogue, in its upper and lower case. Misuse when
// the description makes no sense.
std::string guarded_upsert(const GuardedUpsert& upsert, Dialect dialect);

}  // namespace oncekey
