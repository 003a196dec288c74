// The hosts of a PostgreSQL URL, and the addresses that their names lead to. libpq would look names
// up by itself, and hold up whoever connects for as long as the system's resolver takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/name_lookup.h"

namespace oncekey::store {

// Used by one thread at a time.
class PostgresHosts {
 public:
  using Parameters = std::map<std::string, std::string>;  // as libpq names them

  explicit PostgresHosts(std::string url, LookUp look_up = look_up_by_system);

  const std::string& url() const { return url_; }
  // Why the URL cannot be right; mostly empty.
  const std::string& error() const { return error_; }
  std::size_t count() const { return hosts_.size(); }

  // Begins to look all names up.
  void look_up();
  // How to connect to a host: at each of its addresses in turn. Or why none is known by then.
  Result<std::vector<Parameters>, std::string> places(
      std::size_t index, std::chrono::steady_clock::time_point deadline);

 private:
  struct Host {
    Parameters parameters;
    std::optional<NameLookup> name;  // none: an address or a socket's path, or libpq's own default
  };

  const std::string url_;
  std::vector<Host> hosts_;
  std::string error_;
};

}  // namespace oncekey::store
