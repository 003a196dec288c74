#include "ledger.h"

#include <sqlite3.h>

#include <cstdio>
#include <stdexcept>

namespace provider {
namespace {

// A kill of the process loses nothing that was committed, whatever `synchronous` says; NORMAL gives
// up only the last moments before a power cut, which a simulation may.
constexpr const char* schema = R"(
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL, status TEXT NOT NULL, key TEXT NOT NULL, charge INTEGER NOT NULL,
    amount INTEGER NOT NULL, currency TEXT NOT NULL, reference TEXT NOT NULL,
    metadata TEXT NOT NULL, created_ms INTEGER NOT NULL) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS entry_key ON entry (key, kind) WHERE key <> '';
  CREATE INDEX IF NOT EXISTS entry_charge ON entry (charge) WHERE charge <> 0;
  CREATE TABLE IF NOT EXISTS answer (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS tried (key TEXT PRIMARY KEY) STRICT;
  CREATE TABLE IF NOT EXISTS webhook (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL, secret TEXT NOT NULL, payload TEXT NOT NULL, due_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL, deliveries_left INTEGER NOT NULL, delivered_ms INTEGER) STRICT;
  CREATE INDEX IF NOT EXISTS webhook_due ON webhook (due_ms, number) WHERE deliveries_left > 0;
)";

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    check(sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(std::int64_t number) {
    check(sqlite3_bind_int64(statement_, ++bound_, number));
    return *this;
  }

  bool next_row() {
    column_ = 0;
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) check(result);
    return result == SQLITE_ROW;
  }
  void run() {
    while (next_row()) {
    }
  }

  std::int64_t number() { return sqlite3_column_int64(statement_, column_++); }
  std::string text() {
    const int at = column_++;
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
    return bytes
               ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, at)))
               : "";
  }

 private:
  void check(int result) {
    if (result != SQLITE_OK)
      throw std::runtime_error(std::string("ledger: ") + sqlite3_errmsg(database_));
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int column_ = 0;
};

// Rolls back unless it was committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* database) : database_(database) {
    Statement(database, "BEGIN IMMEDIATE").run();
  }
  ~Transaction() {
    if (!committed_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() {
    Statement(database_, "COMMIT").run();
    committed_ = true;
  }

 private:
  sqlite3* database_;
  bool committed_ = false;
};

std::string name_of(const char* prefix, std::int64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "%s_%08lld", prefix, static_cast<long long>(number));
  return name;
}

std::int64_t number_of(const std::string& id) {
  const std::size_t mark = id.find('_');
  if (mark == std::string::npos || mark + 1 == id.size() || id.size() > 24 ||
      id.find_first_not_of("0123456789", mark + 1) != std::string::npos) {
    return 0;
  }
  return std::stoll(id.substr(mark + 1));
}

void name_entry(Entry& entry) {
  entry.id = name_of(entry.kind == "charge" ? "ch" : "re", entry.number);
}

constexpr const char* entry_columns =
    "number, kind, status, key, charge, amount, currency, reference, metadata, created_ms";

Entry read_entry(Statement& row) {
  Entry entry;
  entry.number = row.number();
  entry.kind = row.text();
  entry.status = row.text();
  entry.key = row.text();
  const std::int64_t charge = row.number();
  if (charge != 0) entry.charge = name_of("ch", charge);
  entry.amount = row.number();
  entry.currency = row.text();
  entry.reference = row.text();
  entry.metadata = row.text();
  entry.created_ms = row.number();
  name_entry(entry);
  return entry;
}

std::string select_entry(const char* rest) {
  return std::string("SELECT ") + entry_columns + " FROM entry " + rest;
}

}  // namespace

std::string Webhook::id() const {
  return name_of("msg", number);
}

Ledger::Ledger(const std::string& path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK ||
      sqlite3_exec(database_, schema, nullptr, nullptr, nullptr) != SQLITE_OK) {
    const std::string reason = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    throw std::runtime_error("cannot open the ledger " + path + ": " + reason);
  }
}

Ledger::~Ledger() {
  sqlite3_close(database_);
}

std::optional<Entry> Ledger::find(const std::string& id) {
  std::lock_guard lock(mutex_);
  Statement row(database_, select_entry("WHERE number = ?").c_str());
  if (!row.bind(number_of(id)).next_row()) return std::nullopt;
  Entry entry = read_entry(row);
  if (entry.id != id) return std::nullopt;
  return entry;
}

std::optional<Entry> Ledger::find_by_key(const std::string& kind, const std::string& key) {
  std::lock_guard lock(mutex_);
  Statement row(database_, select_entry("WHERE key = ? AND kind = ? AND key <> ''").c_str());
  if (!row.bind(key).bind(kind).next_row()) return std::nullopt;
  return read_entry(row);
}

std::int64_t Ledger::refundable(const std::string& charge) {
  std::lock_guard lock(mutex_);
  Statement row(database_,
                "SELECT coalesce(sum(amount), 0) FROM entry "
                "WHERE status = 'succeeded' AND (number = ?1 OR charge = ?1)");
  row.bind(number_of(charge)).next_row();
  return row.number();
}

std::vector<Entry> Ledger::list(std::int64_t after, int limit, bool with_declined) {
  std::lock_guard lock(mutex_);
  Statement row(database_, select_entry("WHERE number > ? AND (? OR status = 'succeeded') "
                                        "ORDER BY number LIMIT ?")
                               .c_str());
  row.bind(after).bind(std::int64_t{with_declined}).bind(std::int64_t{limit});
  std::vector<Entry> entries;
  while (row.next_row()) entries.push_back(read_entry(row));
  return entries;
}

Summary Ledger::summary() {
  std::lock_guard lock(mutex_);
  Summary summary;
  Statement sums(
      database_,
      "SELECT currency, sum(amount) FROM entry WHERE status = 'succeeded' GROUP BY currency");
  while (sums.next_row()) {
    const std::string currency = sums.text();
    summary.sum[currency] = sums.number();
  }
  Statement counts(database_,
                   "SELECT count(*) FILTER (WHERE kind = 'charge' AND status = 'succeeded'),"
                   " count(*) FILTER (WHERE kind = 'refund'),"
                   " count(*) FILTER (WHERE status = 'declined') FROM entry");
  counts.next_row();
  summary.charges = counts.number();
  summary.refunds = counts.number();
  summary.declined = counts.number();
  const auto count_by = [this](const char* sql, std::map<std::string, std::int64_t>& into) {
    Statement rows(database_, sql);
    while (rows.next_row()) {
      const std::string name = rows.text();
      into[name] = rows.number();
    }
  };
  count_by(
      "SELECT key, count(*) FROM entry WHERE kind = 'charge' AND status = 'succeeded' GROUP BY key",
      summary.charges_per_key);
  count_by(
      "SELECT reference, count(*) FROM entry WHERE kind = 'charge' AND status = 'succeeded' "
      "GROUP BY reference",
      summary.charges_per_reference);
  return summary;
}

std::optional<KeptAnswer> Ledger::answer_to(const std::string& key) {
  std::lock_guard lock(mutex_);
  Statement row(database_, "SELECT request, status, body FROM answer WHERE key = ?");
  if (!row.bind(key).next_row()) return std::nullopt;
  KeptAnswer kept;
  kept.request = row.text();
  kept.status = static_cast<int>(row.number());
  kept.body = row.text();
  return kept;
}

bool Ledger::is_first_try(const std::string& key) {
  std::lock_guard lock(mutex_);
  Statement(database_, "INSERT OR IGNORE INTO tried VALUES (?)").bind(key).run();
  return sqlite3_changes(database_) == 1;
}

KeptAnswer Ledger::enter(Entry entry, const Writing& writing) {
  std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  Statement(database_,
            "INSERT INTO entry (kind, status, key, charge, amount, currency, reference, metadata,"
            " created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(entry.kind)
      .bind(entry.status)
      .bind(entry.key)
      .bind(number_of(entry.charge))
      .bind(entry.amount)
      .bind(entry.currency)
      .bind(entry.reference)
      .bind(entry.metadata)
      .bind(entry.created_ms)
      .run();
  entry.number = sqlite3_last_insert_rowid(database_);
  name_entry(entry);
  KeptAnswer kept = writing.answer(entry);
  kept.request = writing.request;
  if (!entry.key.empty()) {
    Statement(database_, "INSERT INTO answer VALUES (?, ?, ?, ?)")
        .bind(entry.key)
        .bind(kept.request)
        .bind(std::int64_t{kept.status})
        .bind(kept.body)
        .run();
  }
  if (!writing.notice.url.empty() && writing.notice.deliveries > 0) {
    Statement(database_,
              "INSERT INTO webhook (url, secret, payload, due_ms, attempts, deliveries_left)"
              " VALUES (?, ?, ?, ?, 0, ?)")
        .bind(writing.notice.url)
        .bind(writing.notice.secret)
        .bind(writing.payload(entry))
        .bind(entry.created_ms + writing.notice.delay_ms)
        .bind(std::int64_t{writing.notice.deliveries})
        .run();
  }
  transaction.commit();
  return kept;
}

std::vector<Webhook> Ledger::webhooks_due(std::int64_t now_ms, int limit) {
  std::lock_guard lock(mutex_);
  Statement row(
      database_,
      "SELECT number, url, secret, payload, due_ms, attempts, deliveries_left FROM webhook "
      "WHERE deliveries_left > 0 AND due_ms <= ? ORDER BY due_ms, number LIMIT ?");
  row.bind(now_ms).bind(std::int64_t{limit});
  std::vector<Webhook> webhooks;
  while (row.next_row()) {
    Webhook webhook;
    webhook.number = row.number();
    webhook.url = row.text();
    webhook.secret = row.text();
    webhook.payload = row.text();
    webhook.due_ms = row.number();
    webhook.attempts = static_cast<int>(row.number());
    webhook.deliveries_left = static_cast<int>(row.number());
    webhooks.push_back(std::move(webhook));
  }
  return webhooks;
}

std::optional<std::int64_t> Ledger::next_webhook_ms() {
  std::lock_guard lock(mutex_);
  Statement row(database_,
                "SELECT due_ms FROM webhook WHERE deliveries_left > 0 ORDER BY due_ms LIMIT 1");
  if (!row.next_row()) return std::nullopt;
  return row.number();
}

void Ledger::webhook_delivered(const Webhook& webhook, std::int64_t now_ms) {
  std::lock_guard lock(mutex_);
  Statement(database_,
            "UPDATE webhook SET deliveries_left = deliveries_left - 1, attempts = attempts + 1,"
            " delivered_ms = ? WHERE number = ?")
      .bind(now_ms)
      .bind(webhook.number)
      .run();
}

void Ledger::webhook_failed(const Webhook& webhook, std::int64_t due_again_ms) {
  std::lock_guard lock(mutex_);
  Statement(database_, "UPDATE webhook SET attempts = attempts + 1, due_ms = ? WHERE number = ?")
      .bind(due_again_ms)
      .bind(webhook.number)
      .run();
}

std::map<std::string, std::int64_t> Ledger::webhook_counts() {
  std::lock_guard lock(mutex_);
  Statement row(database_,
                "SELECT count(*) FILTER (WHERE deliveries_left > 0),"
                " count(*) FILTER (WHERE deliveries_left = 0) FROM webhook");
  row.next_row();
  const std::int64_t waiting = row.number();
  return {{"waiting", waiting}, {"delivered", row.number()}};
}

}  // namespace provider
