#include "admin/events_api.h"

#include <algorithm>
#include <utility>

#include "admin/api_handler.h"

namespace oncekey::admin {
namespace {

constexpr std::int64_t filter_max = 1'024;

std::string dropped_text(std::uint64_t count) {
  return "event: dropped\ndata: {\"event\":\"dropped\",\"count\":" + std::to_string(count) +
         "}\n\n";
}

Reply too_many() {
  Reply reply = problem(503, "too_many_subscribers", "Too many are watching",
                        "At most " + std::to_string(EventsApi::subscribers_max) +
                            " event streams are open at a time. Close one, or try again.");
  reply.headers.push_back({"Retry-After", "10"});
  return reply;
}

}  // namespace

// One stream: what waits to be written, and how its coroutine is woken.
class EventsApi::Subscriber final : private http::Timer {
 public:
  Subscriber(http::Loop& loop, const Arguments& filter)
      : loop_(loop),
        tenant_(filter.text("tenant")),
        route_(filter.text("route")),
        decision_(filter.text("decision")) {}

  void offer(const gateway::Event& event) {
    if (!tenant_.empty() && event.tenant != tenant_) return;
    if (!route_.empty() && event.route != route_) return;
    if (!decision_.empty() && event.decision != decision_) return;
    if (waiting_.size() < waiting_max) {
      waiting_.push_back("data: " + event.json + "\n\n");
    } else {
      ++dropped_;
    }
  }
  void lost(std::uint64_t count) { dropped_ += count; }
  void close() { closed_ = true; }
  bool closed() const { return closed_; }
  void wake() {
    if (!handle_ || (waiting_.empty() && dropped_ == 0 && !closed_)) return;
    disarm();
    std::exchange(handle_, nullptr).resume();
  }

  // Everything that waits; a comment when nothing came for a while.
  std::string take() {
    std::string text;
    for (const std::string& event : waiting_) text += event;
    waiting_.clear();
    if (dropped_ > 0) text += dropped_text(std::exchange(dropped_, 0));
    return text.empty() ? ": still here\n\n" : text;
  }

  // Awaited: until there is something to write, or the heartbeat is due.
  bool await_ready() const { return closed_ || !waiting_.empty() || dropped_ > 0; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    arm(loop_.timers(), loop_.now() + heartbeat_ms);
  }
  void await_resume() const {}

 private:
  void on_deadline() override { std::exchange(handle_, nullptr).resume(); }

  http::Loop& loop_;
  const std::string tenant_;
  const std::string route_;
  const std::string decision_;
  std::deque<std::string> waiting_;
  std::uint64_t dropped_ = 0;
  std::coroutine_handle<> handle_;
  bool closed_ = false;
};

EventsApi::EventsApi(http::Loop& loop, gateway::EventFeed& feed) : loop_(loop), feed_(feed) {
  feed_.listen([this] { loop_.post([this] { hand_out(); }); });
}

EventsApi::~EventsApi() {
  feed_.want(false);
  feed_.listen({});
}

std::vector<Endpoint> EventsApi::endpoints() {
  return {
      {"GET",
       "/v1/events",
       Access::read,
       "watchEvents",
       "What happens, as it happens: text/event-stream with one JSON object in each event. "
       "Requests with their decision, leases that end, outcomes found, changes by operators. "
       "`event: dropped` says how many a slow reader has missed.",
       {{.name = "tenant", .about = "only of this tenant", .max = filter_max},
        {.name = "route", .about = "only requests of this route", .max = filter_max},
        {.name = "decision", .about = "only requests that were decided so", .max = filter_max}},
       "",
       [this](http::Exchange& exchange, const Call& call) { return stream(exchange, call); }},
  };
}

void EventsApi::close() {
  feed_.want(false);
  loop_.post([this] {
    closed_ = true;
    const std::vector<Subscriber*> all = subscribers_;
    for (Subscriber* subscriber : all) subscriber->close();
    for (Subscriber* subscriber : all) {
      if (std::find(subscribers_.begin(), subscribers_.end(), subscriber) != subscribers_.end()) {
        subscriber->wake();
      }
    }
  });
}

void EventsApi::hand_out() {
  const gateway::EventFeed::Taken taken = feed_.take();
  for (Subscriber* subscriber : subscribers_) {
    for (const gateway::Event& event : taken.events) subscriber->offer(event);
    subscriber->lost(taken.dropped);
  }
  // Waking one may end it, and so change the list.
  const std::vector<Subscriber*> all = subscribers_;
  for (Subscriber* subscriber : all) {
    if (std::find(subscribers_.begin(), subscribers_.end(), subscriber) != subscribers_.end()) {
      subscriber->wake();
    }
  }
}

http::Task<void> EventsApi::stream(http::Exchange& exchange, const Call& call) {
  if (closed_ || subscribers_.size() >= subscribers_max) {
    const Reply reply = too_many();
    co_await send(exchange, reply);
    co_return;
  }
  http::ResponseStart start;
  start.add("Content-Type", "text/event-stream");
  start.add("Cache-Control", "no-store");
  start.add("X-Content-Type-Options", "nosniff");
  http::Framing framing;
  framing.kind = http::Framing::Kind::chunked;
  if (exchange.head().method == "HEAD") {
    co_await exchange.begin(start, framing);
    co_await exchange.finish();
    co_return;
  }
  Subscriber subscriber(loop_, call.arguments);
  ++under_way_;
  subscribers_.push_back(&subscriber);
  feed_.want(true);
  exchange.close_after();
  bool reachable = co_await exchange.begin(start, framing);
  while (reachable && !subscriber.closed()) {
    const std::string text = subscriber.take();
    reachable = co_await exchange.send_piece(text);
    if (reachable) co_await subscriber;
  }
  std::erase(subscribers_, &subscriber);
  if (subscribers_.empty()) feed_.want(false);
  --under_way_;
  if (reachable) co_await exchange.finish();
}

}  // namespace oncekey::admin
