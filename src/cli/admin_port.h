// An admin port as the commands use it: flags in, an answer or a message and an exit code out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/admin_place.h"
#include "cli/json_fields.h"
#include "cli/style.h"

namespace oncekey::cli {

// ?name=value&…, percent-encoded. Empty values are left out.
std::string query_text(const std::vector<std::pair<std::string_view, std::string>>& parameters);

// For --help and the manual: what each exit code means.
extern const char* const admin_exit_codes;

class AdminPort {
 public:
  AdminPort(AdminRole role, const Surroundings& surroundings);

  // --admin, --config, --token-file and --json. With `either`, --worker as well.
  enum class Whose { fixed, either };
  void declare(CLI::App& app, Whose whose = Whose::fixed);
  void declare_without_json(CLI::App& app, Whose whose = Whose::fixed);
  // After the flags have been read. Empty: go on.
  std::optional<int> open();

  // The error is the exit code; why has been printed.
  Result<Json, int> get(const std::string& target);
  // A change: it is asked for once, never again by itself.
  Result<Json, int> post(const std::string& target, const std::string& body,
                         DurationMs timeout_ms = change_timeout_ms);

  // What another exit code than 0 is for, and its message.
  int fail(const ClientAnswer& answer);

  bool json() const { return json_; }
  const AdminPlace& place() const { return *place_; }
  Style style() const { return style_; }
  std::ostream& out() { return surroundings_.out; }
  std::ostream& err() { return surroundings_.err; }
  const Surroundings& surroundings() const { return surroundings_; }
  void print_json(const Json& answer);  // as it came
  int mistake(std::string_view text);   // of the user

 private:
  // A store may take its whole timeout, and a list looks at many records.
  static constexpr DurationMs read_timeout_ms = 60'000;
  static constexpr DurationMs change_timeout_ms = 120'000;

  Result<Json, int> understand(const Result<ClientAnswer, Silence>& answer, bool change);

  const Surroundings surroundings_;
  const Style style_;
  AdminFlags flags_;
  bool worker_ = false;
  bool json_ = false;
  std::optional<AdminPlace> place_;
};

}  // namespace oncekey::cli
