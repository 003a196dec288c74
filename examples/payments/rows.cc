#include "rows.h"

#include <chrono>

namespace payments {
namespace {

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

nlohmann::json describe(const Payment& payment) {
  return {{"id", payment.id},
          {"status", payment.status},
          {"amount", payment.amount},
          {"currency", payment.currency},
          {"reference", payment.reference},
          {"charge", payment.provider_id}};
}

nlohmann::json describe(const Refund& refund) {
  return {{"id", refund.id},
          {"payment", refund.payment},
          {"status", refund.status},
          {"amount", refund.amount},
          {"refund", refund.provider_id}};
}

bool insert(Connection& connection, const Payment& payment) {
  return !connection
              .query(
                  "INSERT INTO payments (id, tenant, idempotency_key, provider_key, status,"
                  " amount, currency, reference, asked_at)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
                  " ON CONFLICT (provider_key) DO NOTHING RETURNING id",
                  {payment.id, payment.tenant, payment.idempotency_key, payment.provider_key,
                   payment.status, std::to_string(payment.amount), payment.currency,
                   payment.reference, std::to_string(now_ms())})
              .empty();
}

bool insert(Connection& connection, const Refund& refund) {
  return !connection
              .query(
                  "INSERT INTO refunds (id, payment, provider_key, status, amount, asked_at)"
                  " VALUES ($1, $2, $3, $4, $5, $6)"
                  " ON CONFLICT (provider_key) DO NOTHING RETURNING id",
                  {refund.id, refund.payment, refund.provider_key, refund.status,
                   std::to_string(refund.amount), std::to_string(now_ms())})
              .empty();
}

std::optional<Payment> find_payment(Connection& connection, const std::string& tenant,
                                    const std::string& column, const std::string& value) {
  const auto rows = connection.query(
      "SELECT id, tenant, idempotency_key, provider_key, status, amount, currency, reference,"
      " provider_id FROM payments WHERE tenant = $1 AND " +
          column + " = $2",
      {tenant, value});
  if (rows.empty()) return std::nullopt;
  const Row& row = rows[0];
  return Payment{row[0], row[1], row[2], row[3], row[4], std::stoll(row[5]),
                 row[6], row[7], row[8]};
}

std::optional<Refund> find_refund(Connection& connection, const std::string& tenant,
                                  const std::string& id) {
  const auto rows = connection.query(
      "SELECT r.id, r.payment, r.provider_key, r.status, r.amount, r.provider_id FROM refunds r"
      " JOIN payments p ON p.id = r.payment WHERE p.tenant = $1 AND r.id = $2",
      {tenant, id});
  if (rows.empty()) return std::nullopt;
  const Row& row = rows[0];
  return Refund{row[0], row[1], row[2], row[3], std::stoll(row[4]), row[5]};
}

std::int64_t refunded(Connection& connection, const std::string& payment) {
  const auto rows = connection.query(
      "SELECT coalesce(sum(amount), 0) FROM refunds WHERE payment = $1"
      " AND status IN ('pending', 'succeeded')",
      {payment});
  return std::stoll(rows[0][0]);
}

bool decide(Connection& connection, const std::string& table, const std::string& provider_key,
            const Verdict& verdict) {
  return !connection
              .query("UPDATE " + table +
                         " SET status = $1, provider_id = $2"
                         " WHERE provider_key = $3 AND status = 'pending' RETURNING id",
                     {verdict.status, verdict.provider_id, provider_key})
              .empty();
}

std::vector<std::string> overdue(Connection& connection, const std::string& table,
                                 std::int64_t age_ms, int limit) {
  const std::int64_t now = now_ms();
  const auto rows = connection.query(
      "UPDATE " + table + " SET asked_at = $1 WHERE provider_key IN (SELECT provider_key FROM " +
          table + " WHERE status = 'pending' AND asked_at < $2 ORDER BY asked_at LIMIT " +
          std::to_string(limit) + ") RETURNING provider_key",
      {std::to_string(now), std::to_string(now - age_ms)});
  std::vector<std::string> keys;
  for (const Row& row : rows) keys.push_back(row[0]);
  return keys;
}

}  // namespace payments
