// The service's own rows: what was asked for, and what the provider made of it. All functions work
// in whatever transaction is open.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "connection.h"
#include "provider.h"

namespace payments {

struct Payment {
  std::string id;
  std::string tenant;
  std::string idempotency_key;
  std::string provider_key;
  std::string status = "pending";  // then as in Verdict, and never anything else again
  std::int64_t amount = 0;         // in the currency's smallest unit
  std::string currency;
  std::string reference;
  std::string provider_id;
};
struct Refund {
  std::string id;
  std::string payment;
  std::string provider_key;
  std::string status = "pending";
  std::int64_t amount = 0;
  std::string provider_id;
};

nlohmann::json describe(const Payment& payment);
nlohmann::json describe(const Refund& refund);

// False: there is one with its provider_key.
bool insert(Connection& connection, const Payment& payment);
bool insert(Connection& connection, const Refund& refund);

// `column` is id or provider_key. Another tenant's is not found.
std::optional<Payment> find_payment(Connection& connection, const std::string& tenant,
                                    const std::string& column, const std::string& value);
std::optional<Refund> find_refund(Connection& connection, const std::string& tenant,
                                  const std::string& id);
std::int64_t refunded(Connection& connection, const std::string& payment);  // or about to be

// The first verdict stands. True: this was it.
bool decide(Connection& connection, const std::string& table, const std::string& provider_key,
            const Verdict& verdict);
// provider_keys of what has been pending for so long, each once in that time.
std::vector<std::string> overdue(Connection& connection, const std::string& table,
                                 std::int64_t age_ms, int limit);

}  // namespace payments
