#include "outbox/sqlite_queue.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <type_traits>

#include "outbox/sqlite_messages.h"
#include "store/sqlite_connection.h"

namespace oncekey::outbox {
namespace {

using std::chrono::milliseconds;
using transaction::Statement;

// How long to wait for another's transaction. The service's are short, and a worker tries again.
constexpr DurationMs patience_ms = 5'000;

// SQLite does not notify; asking whether the file has changed costs a few system calls.
constexpr milliseconds poll_every{4};

TimestampMs machine_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

class SqliteQueue : public Queue {
 public:
  SqliteQueue(std::string path, store::SqliteConnection connection)
      : path_(std::move(path)),
        connection_(std::move(connection)),
        begin_(connection_.get(), "BEGIN IMMEDIATE"),
        commit_(connection_.get(), "COMMIT"),
        version_(connection_.get(), "PRAGMA data_version"),
        messages_(connection_.get()) {}

  Answer<std::vector<Claimed>> claim(std::string_view worker, std::size_t limit,
                                     milliseconds lease) override {
    // Most of the time nothing is due; finding that out needs no writing.
    return attempt<std::vector<Claimed>>([&]() -> std::vector<Claimed> {
      const auto due = messages_.next_due();
      if (!due || *due > machine_now()) return {};
      return in_transaction([&](TimestampMs now) {
        return messages_.claim(worker, limit, now + lease.count(), now);
      });
    });
  }

  Answer<std::size_t> extend(std::span<const MessageId> ids, Claim claim,
                             milliseconds lease) override {
    return attempt<std::size_t>([&] {
      return in_transaction([&](TimestampMs now) {
        return static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [&](MessageId id) {
          return messages_.extend(id, claim, now + lease.count());
        }));
      });
    });
  }

  Answer<std::vector<MessageId>> record(std::span<const Outcome> outcomes) override {
    return attempt<std::vector<MessageId>>([&] {
      return in_transaction([&](TimestampMs now) {
        std::vector<MessageId> lost;
        for (const Outcome& outcome : outcomes) {
          if (!messages_.record(outcome, now)) lost.push_back(outcome.id);
        }
        return lost;
      });
    });
  }

  Answer<std::size_t> reap(milliseconds age, std::size_t limit) override {
    return attempt<std::size_t>([&] {
      return in_transaction(
          [&](TimestampMs now) { return messages_.reap(now - age.count(), limit); });
    });
  }

  void wait(milliseconds at_most) override {
    const auto until = std::chrono::steady_clock::now() + at_most;
    std::int64_t seen = -1;
    std::optional<TimestampMs> due;
    do {
      // What this connection did itself is not seen as a change, so the first round always looks.
      try {
        const std::int64_t version = data_version();
        if (version != seen) due = messages_.next_due();
        seen = version;
      } catch (const DatabaseError&) {
        seen = -1;  // someone is writing: the next round looks again
      }
      if (due && *due <= machine_now()) return;
    } while (!woken_within(poll_every, until));
  }

  void wake() override {
    std::lock_guard lock(mutex_);
    woken_ = true;
    wakeup_.notify_all();
  }

  Answer<QueueStats> stats() override {
    return attempt<QueueStats>([&] { return messages_.stats(machine_now()); });
  }

  Answer<std::vector<Entry>> list(const Filter& filter) override {
    return attempt<std::vector<Entry>>([&] { return messages_.list(filter, machine_now()); });
  }

  Answer<std::optional<Entry>> find(MessageId id) override {
    return attempt<std::optional<Entry>>([&]() -> std::optional<Entry> {
      Filter only;
      only.after = id - 1;
      only.limit = 1;
      auto entries = messages_.list(only, machine_now());
      if (entries.empty() || entries.front().id != id) return {};
      return std::move(entries.front());
    });
  }

  Answer<std::size_t> retry(std::span<const MessageId> ids) override {
    return attempt<std::size_t>([&] {
      return in_transaction([&](TimestampMs now) {
        return static_cast<std::size_t>(std::count_if(
            ids.begin(), ids.end(), [&](MessageId id) { return messages_.retry(id, now); }));
      });
    });
  }

  Answer<std::size_t> discard(std::span<const MessageId> ids) override {
    return attempt<std::size_t>([&] {
      return in_transaction([&](TimestampMs) {
        return static_cast<std::size_t>(std::count_if(
            ids.begin(), ids.end(), [&](MessageId id) { return messages_.discard(id); }));
      });
    });
  }

 private:
  template <class T, class Work>
  Answer<T> attempt(const Work& work) {
    try {
      return work();
    } catch (const DatabaseError& error) {
      return path_ + ": " + error.what();
    }
  }

  template <class Work>
  std::invoke_result_t<const Work&, TimestampMs> in_transaction(const Work& work) {
    begin_.run();
    try {
      auto result = work(machine_now());
      commit_.run();
      return result;
    } catch (...) {
      if (sqlite3_get_autocommit(connection_.get()) == 0) {
        sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      }
      throw;
    }
  }

  std::int64_t data_version() {
    Statement::Rows row = version_.rows();
    return row.next() ? row.number(0) : 0;
  }

  // True also when `until` has come.
  bool woken_within(milliseconds pause, std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    const auto end = std::min(until, std::chrono::steady_clock::now() + pause);
    const bool woken = wakeup_.wait_until(lock, end, [this] { return woken_; });
    woken_ = false;
    return woken || std::chrono::steady_clock::now() >= until;
  }

  std::string path_;
  store::SqliteConnection connection_;
  Statement begin_;
  Statement commit_;
  Statement version_;
  SqliteMessages messages_;

  std::mutex mutex_;
  std::condition_variable wakeup_;
  bool woken_ = false;
};

}  // namespace

Result<std::unique_ptr<Queue>, std::string> open_sqlite_queue(std::string_view path) {
  constexpr std::string_view parameter = "?shared=1";  // as in a store's URL; it is what we do
  if (path.ends_with(parameter)) path.remove_suffix(parameter.size());
  auto connection = store::share_sqlite(std::string(path), patience_ms);
  if (!connection) return connection.error();
  return std::unique_ptr<Queue>(
      std::make_unique<SqliteQueue>(std::string(path), std::move(*connection)));
}

}  // namespace oncekey::outbox
