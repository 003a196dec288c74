// Messages as entries of a Redis stream. A thread of its own talks to Redis; what the loop gathers
// in a round goes there, and comes back, in one piece.
#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <thread>

#include "outbox/sink.h"
#include "store/redis_router.h"

namespace oncekey::outbox {

namespace {

class RedisSink final : public Sink {
 public:
  RedisSink(http::Loop& loop, store::RedisUrl url, const SinkConfig& config)
      : loop_(loop),
        stream_(config.stream.empty() ? config.name : config.stream),
        max_length_(config.stream_max_length),
        timeout_(config.timeout_ms),
        router_(std::move(url)),
        thread_([this] { run(); }) {}

  ~RedisSink() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

  http::Task<Delivery> deliver(const Claimed& claimed) override {
    Entry entry(*this, claimed);
    co_await entry;
    co_return std::move(entry.delivery);
  }

  void flush() override {
    if (gathered_.empty()) return;
    {
      std::lock_guard lock(mutex_);
      handed_over_.insert(handed_over_.end(), gathered_.begin(), gathered_.end());
    }
    gathered_.clear();
    work_.notify_one();
  }

 private:
  struct Entry {
    Entry(RedisSink& owner, const Claimed& message) : sink(owner), claimed(message) {}

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      handle = waiting;
      sink.gathered_.push_back(this);
    }
    void await_resume() const {}

    RedisSink& sink;
    const Claimed& claimed;
    Delivery delivery;
    std::coroutine_handle<> handle;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return stopping_ || !handed_over_.empty(); });
      if (stopping_) return;
      std::vector<Entry*> entries = std::move(handed_over_);
      handed_over_.clear();
      lock.unlock();
      add(entries);
      loop_.post([entries = std::move(entries)] {
        for (Entry* entry : entries) entry->handle.resume();
      });
      lock.lock();
    }
  }

  void add(const std::vector<Entry*>& entries) {
    std::vector<store::RedisCommand> commands(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) write(entries[i]->claimed, commands[i]);
    router_.run(commands, std::chrono::steady_clock::now() + timeout_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const store::RedisCommand& command = commands[i];
      if (command.is_good()) {
        entries[i]->delivery = Delivered{std::string(command.reply.value().text())};
      } else {
        entries[i]->delivery =
            NotDelivered{"Redis: " + (command.trouble.empty() ? "no answer" : command.trouble)};
      }
    }
  }

  void write(const Claimed& claimed, store::RedisCommand& command) const {
    command.slot = store::redis_slot_of(stream_);
    command.word("XADD");
    command.word(stream_);
    if (max_length_ > 0) {
      command.word("MAXLEN");
      command.word("~");
      command.word(static_cast<std::int64_t>(max_length_));
    }
    command.word("*");
    command.word("key");
    command.word(claimed.message.message_key);
    command.word("id");
    command.word(claimed.id);
    command.word("payload");
    command.word(claimed.message.payload);
    for (const Header& header : claimed.message.headers) {
      command.word("header:" + header.name);
      command.word(header.value);
    }
  }

  http::Loop& loop_;
  std::string stream_;
  std::uint64_t max_length_;
  std::chrono::milliseconds timeout_;
  std::vector<Entry*> gathered_;  // the loop's
  store::RedisRouter router_;     // the thread's

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Entry*> handed_over_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Sink>, std::string> open_redis_sink(http::Loop& loop,
                                                           const SinkConfig& config) {
  auto url = store::parse_redis_url(config.url);
  if (!url) return url.error();
  return std::unique_ptr<Sink>(std::make_unique<RedisSink>(loop, std::move(*url), config));
}

}  // namespace oncekey::outbox
