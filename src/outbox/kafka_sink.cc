// Messages to a Kafka topic, by an idempotent producer: librdkafka may send one twice on the wire,
// the broker keeps it once. Across restarts of the worker receivers dedupe by the message's key.
#include <librdkafka/rdkafka.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <coroutine>

#include "oncekey/assert.h"
#include "outbox/sink.h"

namespace oncekey::outbox {

namespace {

constexpr std::string_view scheme = "kafka://";
constexpr const char* key_header = "oncekey-message-key";
constexpr const char* id_header = "oncekey-message-id";

struct FreeConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, FreeConf>;

struct FreeQueue {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};

struct FreeProducer {
  void operator()(rd_kafka_t* producer) const {
    // What is still under way has no one left to tell: it counts as not delivered.
    rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(producer);
  }
};

class KafkaSink final : public Sink, private http::Loop::EventTarget {
 public:
  KafkaSink(http::Loop& loop, Conf conf, std::string topic)
      : loop_(loop), conf_(std::move(conf)), topic_(std::move(topic)) {
    event_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ONCEKEY_ASSERT(event_fd_ >= 0);
    loop_.add(event_fd_, *this);
    rd_kafka_conf_set_dr_msg_cb(conf_.get(), on_report);
    rd_kafka_conf_set_error_cb(conf_.get(), on_error);
    rd_kafka_conf_set_log_cb(conf_.get(), nullptr);
    rd_kafka_conf_set_opaque(conf_.get(), this);
  }
  ~KafkaSink() override {
    queue_.reset();
    producer_.reset();
    loop_.remove(event_fd_, *this);
    ::close(event_fd_);
  }

  // "": the producer is there.
  std::string start() {
    char error[512] = "";
    rd_kafka_conf_t* conf = rd_kafka_conf_dup(conf_.get());
    producer_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error));
    if (!producer_) {
      rd_kafka_conf_destroy(conf);
      return error;
    }
    queue_.reset(rd_kafka_queue_get_main(producer_.get()));
    const std::uint64_t one = 1;
    rd_kafka_queue_io_event_enable(queue_.get(), event_fd_, &one, sizeof one);
    return "";
  }

  http::Task<Delivery> deliver(const Claimed& claimed) override {
    std::string trouble = replace_after_fatal_error();
    if (!trouble.empty()) co_return NotDelivered{std::move(trouble)};
    Report report(*this, claimed);
    co_await report;
    co_return std::move(report.delivery);
  }

  void cancel() override {
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }

 private:
  // Suspends a delivery until the broker's word on it has come.
  struct Report {
    Report(KafkaSink& owner, const Claimed& message) : sink(owner), claimed(message) {}

    bool await_ready() { return !sink.produce(*this); }
    void await_suspend(std::coroutine_handle<> waiting) { handle = waiting; }
    void await_resume() const {}

    KafkaSink& sink;
    const Claimed& claimed;
    Delivery delivery;
    std::coroutine_handle<> handle;
  };

  // An idempotent producer that cannot keep its promise any more has to be made anew.
  std::string replace_after_fatal_error() {
    char error[512] = "";
    if (rd_kafka_fatal_error(producer_.get(), error, sizeof error) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      return "";
    }
    if (under_way_ > 0) return std::string("the producer is being replaced: ") + error;
    queue_.reset();
    producer_.reset();
    std::string trouble = start();
    ONCEKEY_ASSERT(trouble.empty());  // the same configuration was good before
    return "";
  }

  // False: it was not even queued, and the report says why.
  bool produce(Report& report) {
    const Message& message = report.claimed.message;
    const std::string& key = message.aggregate.empty() ? message.message_key : message.aggregate;
    const std::string id = std::to_string(report.claimed.id);
    rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size() + 2);
    auto add = [&](const char* name, std::size_t name_size, const std::string& value) {
      rd_kafka_header_add(headers, name, static_cast<ssize_t>(name_size), value.data(),
                          static_cast<ssize_t>(value.size()));
    };
    for (const Header& header : message.headers) {
      add(header.name.data(), header.name.size(), header.value);
    }
    add(key_header, std::char_traits<char>::length(key_header), message.message_key);
    add(id_header, std::char_traits<char>::length(id_header), id);
    rd_kafka_resp_err_t error = rd_kafka_producev(
        producer_.get(), RD_KAFKA_V_TOPIC(topic_.c_str()), RD_KAFKA_V_KEY(key.data(), key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(message.payload.data()), message.payload.size()),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_OPAQUE(&report), RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++under_way_;
      return true;
    }
    rd_kafka_headers_destroy(headers);
    report.delivery = not_delivered(error);
    return false;
  }

  NotDelivered not_delivered(rd_kafka_resp_err_t error) const {
    NotDelivered failed;
    failed.error = std::string("Kafka: ") + rd_kafka_err2str(error);
    if (!last_error_.empty()) failed.error += " (" + last_error_ + ")";
    failed.hopeless = error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
                      error == RD_KAFKA_RESP_ERR_INVALID_MSG ||
                      error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
    return failed;
  }

  // Both run inside rd_kafka_poll() below.
  static void on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto& sink = *static_cast<KafkaSink*>(opaque);
    auto& report = *static_cast<Report*>(message->_private);
    --sink.under_way_;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      sink.last_error_.clear();
      report.delivery = Delivered{sink.topic_ + "[" + std::to_string(message->partition) + "]@" +
                                  std::to_string(message->offset)};
    } else {
      report.delivery = sink.not_delivered(message->err);
    }
    sink.reported_.push_back(report.handle);
  }
  static void on_error(rd_kafka_t*, int, const char* reason, void* opaque) {
    static_cast<KafkaSink*>(opaque)->last_error_ = reason;
  }

  void on_events(std::uint32_t) override {
    std::uint64_t count = 0;
    [[maybe_unused]] ssize_t got = ::read(event_fd_, &count, sizeof count);
    while (producer_ && rd_kafka_poll(producer_.get(), 0) > 0) {
    }
    std::vector<std::coroutine_handle<>> reported;
    reported.swap(reported_);
    for (std::coroutine_handle<> handle : reported) handle.resume();
  }

  http::Loop& loop_;
  Conf conf_;
  std::string topic_;
  int event_fd_ = -1;
  std::unique_ptr<rd_kafka_t, FreeProducer> producer_;
  std::unique_ptr<rd_kafka_queue_t, FreeQueue> queue_;
  std::size_t under_way_ = 0;
  std::string last_error_;
  std::vector<std::coroutine_handle<>> reported_;
};

// "": it was set.
std::string set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char error[512] = "";
  bool good =
      rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof error) == RD_KAFKA_CONF_OK;
  return good ? "" : error;
}

}  // namespace

Result<std::unique_ptr<Sink>, std::string> open_kafka_sink(http::Loop& loop,
                                                           const SinkConfig& config) {
  std::string_view rest = config.url;
  std::size_t slash = std::string_view::npos;
  if (rest.starts_with(scheme)) {
    rest.remove_prefix(scheme.size());
    slash = rest.find('/');
  }
  std::string topic(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
  if (topic.empty() || slash == 0 || topic.find('/') != std::string::npos) {
    return "\"" + config.url + "\" is not kafka://broker:port[,broker:port]/topic";
  }
  Conf conf(rd_kafka_conf_new());
  const std::pair<std::string, std::string> ours[] = {
      {"bootstrap.servers", std::string(rest.substr(0, slash))},
      {"enable.idempotence", "true"},  // acks=all, and order kept
      {"message.timeout.ms", std::to_string(config.timeout_ms)},
      {"linger.ms", "1"},
      {"client.id", "oncekey"},
  };
  for (const auto& [name, value] : ours) {
    std::string trouble = set(conf.get(), name, value);
    if (!trouble.empty()) return trouble;
  }
  for (const std::string& property : config.properties) {
    std::size_t equals = property.find('=');
    if (equals == std::string::npos) return "the property \"" + property + "\" is not name=value";
    std::string name = property.substr(0, equals);
    std::string trouble = set(conf.get(), name, property.substr(equals + 1));
    if (!trouble.empty()) return "the property " + name + ": " + trouble;
  }
  auto sink = std::make_unique<KafkaSink>(loop, std::move(conf), std::move(topic));
  std::string trouble = sink->start();
  if (!trouble.empty()) return trouble;
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace oncekey::outbox
