#include "store/postgres_hosts.h"

#include <netdb.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "store/postgres_url.h"

namespace oncekey::store {
namespace {

constexpr std::uint16_t port_of_postgres = 5432;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  if (list.empty()) return parts;
  std::size_t from = 0;
  for (std::size_t comma; (comma = list.find(',', from)) != list.npos; from = comma + 1) {
    parts.push_back(list.substr(from, comma - from));
  }
  parts.push_back(list.substr(from));
  return parts;
}

bool is_name(const std::string& host) {
  return !host.empty() && host.front() != '/' && host.front() != '@';
}

// As libpq takes it: a number. "" where it is none.
std::string numeric(const SocketAddress& address) {
  char host[NI_MAXHOST];
  const auto* at = reinterpret_cast<const sockaddr*>(&address.address);
  const int error = ::getnameinfo(at, address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "";
}

}  // namespace

PostgresHosts::PostgresHosts(std::string url, LookUp look_up) : url_(std::move(url)) {
  auto read = read_postgres_url(url_);
  if (!read) {
    error_ = read.error();
    return;
  }
  Parameters given = std::move(*read);
  const std::vector<std::string> names = split(given["host"]), addresses = split(given["hostaddr"]),
                                 ports = split(given["port"]);
  given.erase("target_session_attrs");  // asked for after connecting, with a better message
  given.emplace("application_name", "oncekey");
  given["client_encoding"] = "UTF8";
  const std::size_t count = std::max<std::size_t>({1, names.size(), addresses.size()});
  for (std::size_t i = 0; i < count; ++i) {
    Host& host = hosts_.emplace_back();
    host.parameters = given;
    const auto choose = [&](const char* name, const std::vector<std::string>& list) {
      if (list.empty()) {
        host.parameters.erase(name);
      } else {
        host.parameters[name] = list[list.size() == 1 ? 0 : std::min(i, list.size() - 1)];
      }
    };
    choose("host", names);
    choose("hostaddr", addresses);
    choose("port", ports);
    const auto name = host.parameters.find("host");
    const auto address = host.parameters.find("hostaddr");
    const bool has_address = address != host.parameters.end() && !address->second.empty();
    if (name != host.parameters.end() && is_name(name->second) && !has_address &&
        std::getenv("PGHOSTADDR") == nullptr) {
      host.name.emplace(name->second, port_of_postgres, look_up);
    }
  }
}

void PostgresHosts::look_up() {
  for (Host& host : hosts_) {
    if (host.name) host.name->begin();
  }
}

Result<std::vector<PostgresHosts::Parameters>, std::string> PostgresHosts::places(
    std::size_t index, std::chrono::steady_clock::time_point deadline) {
  Host& host = hosts_[index];
  if (!host.name) return std::vector{host.parameters};
  const Addresses addresses = host.name->take(deadline);
  if (!addresses) return host.parameters["host"] + ": " + addresses.error();
  std::vector<Parameters> places;
  for (const SocketAddress& address : *addresses) {
    Parameters& place = places.emplace_back(host.parameters);
    place["hostaddr"] = numeric(address);
  }
  return places;
}

}  // namespace oncekey::store
