#include "oncekey/natural_key.h"

#include <algorithm>

namespace oncekey {
namespace {

std::string quoted(std::string_view text, char quote) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    throw Misuse("a guarded upsert with a name or state that is empty or has a zero byte");
  }
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  return out + quote;
}

std::string name(std::string_view text) {
  return quoted(text, '"');
}

std::string table_name(const std::string& table) {
  const std::size_t dot = table.find('.');
  if (dot == std::string::npos) return name(table);
  return name(table.substr(0, dot)) + "." + name(table.substr(dot + 1));
}

template <class Write>
std::string list(const std::vector<std::string>& items, Write write) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += ", ";
    out += write(item);
  }
  return out;
}

void check(const GuardedUpsert& upsert) {
  const std::string here = "the guarded upsert of \"" + upsert.table + "\" ";
  if (upsert.key.empty()) throw Misuse(here + "has no key column; name a unique constraint's");
  if (upsert.final_states.empty()) throw Misuse(here + "has no final state, so it guards nothing");
  if (std::find(upsert.values.begin(), upsert.values.end(), upsert.state) == upsert.values.end()) {
    throw Misuse(here + "does not write its state column \"" + upsert.state +
                 "\"; add it to `values`");
  }
}

}  // namespace

std::string natural_key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += '/';
    for (const char c : part) {
      if (c == '/' || c == '%') {
        key += c == '/' ? "%2F" : "%25";
      } else {
        key += c;
      }
    }
  }
  if (key.empty()) throw Misuse("a natural key needs at least one part");
  return key;
}

std::string guarded_upsert(const GuardedUpsert& upsert, Dialect dialect) {
  check(upsert);
  std::vector<std::string> columns = upsert.key;
  columns.insert(columns.end(), upsert.values.begin(), upsert.values.end());
  const char mark = dialect == Dialect::sqlite ? '?' : '$';
  std::size_t number = 0;
  const std::string state = "standing." + name(upsert.state);
  return "INSERT INTO " + table_name(upsert.table) + " AS standing (" + list(columns, name) +
         ") VALUES (" +
         list(columns, [&](const std::string&) { return mark + std::to_string(++number); }) +
         ") ON CONFLICT (" + list(upsert.key, name) + ") DO UPDATE SET " +
         list(upsert.values,
              [](const std::string& column) {
                return name(column) + " = excluded." + name(column);
              }) +
         " WHERE " + state + " IS NULL OR " + state + " NOT IN (" +
         list(upsert.final_states, [](const std::string& text) { return quoted(text, '\''); }) +
         ")";
}

}  // namespace oncekey
