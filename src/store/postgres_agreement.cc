// What the nodes on one database have agreed on: oncekey.settings, where the first to write
// decides.
#include "store/postgres.h"

namespace oncekey::store {

Result<std::string, PostgresError> agree_in_postgres(const PostgresOptions& options,
                                                     std::string_view name,
                                                     std::string_view value) {
  PostgresSession session(options.url, options.timeout_ms);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options.timeout_ms);
  auto connection = session.ready(deadline);
  if (!connection) return connection.error();
  PostgresParameters offered, asked;
  offered.text(name);
  offered.text(value);
  asked.text(name);
  auto written = (*connection)
                     ->call("oncekey_offer",
                            "INSERT INTO oncekey.settings (name, value) VALUES ($1, $2) "
                            "ON CONFLICT (name) DO NOTHING",
                            offered, deadline);
  if (!written) return written.error();
  auto in_force = (*connection)
                      ->call("oncekey_ask", "SELECT value FROM oncekey.settings WHERE name = $1",
                             asked, deadline);
  if (!in_force) return in_force.error();
  if (in_force->rows() != 1) return PostgresError{{}, "", "oncekey.settings was changed meanwhile"};
  return std::string(in_force->bytes(0, 0));
}

}  // namespace oncekey::store
