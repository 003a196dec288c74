// Flags that the commands about keys share.
#pragma once

#include <optional>
#include <string>

#include "boundary/json_writer.h"
#include "cli/flags.h"
#include "cli/json_fields.h"

namespace oncekey::cli {

// One key.
struct KeyName {
  std::string key;
  std::string tenant;  // "": the one tenant of a gateway that has one

  void declare(CLI::App& app, bool required = true);
  std::string query(bool with_body = false) const;
};

// A change of one key.
struct KeyChange {
  KeyName name;
  std::string reason;
  std::int64_t fence = 0;  // 0: whichever

  void declare(CLI::App& app, bool key_required = true);
  // Members of the request's object; empty: what is wrong with them.
  std::optional<std::string> write(JsonWriter& json) const;
};

// Which keys; the members of a filter.
struct KeyFlags {
  std::string tenant;
  std::string route;
  std::string method;
  std::string path;
  std::string key_prefix;
  std::string older_than;
  std::string newer_than;

  void declare(CLI::App& app);
  bool empty() const;
  std::vector<std::pair<std::string_view, std::string>> parameters() const;
};

void declare_reason(CLI::App& app, std::string& reason);

// "KEY (tenant T)", fit for a terminal.
std::string name_of_key(JsonElement record);

}  // namespace oncekey::cli
