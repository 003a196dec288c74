#include "gateway/live_key_counter.h"

#include <utility>

namespace oncekey::gateway {

namespace {

// Some milliseconds of an embedded store's time.
constexpr std::size_t page_records = 1'000;

}  // namespace

LiveKeyCounter::LiveKeyCounter(LiveKeys& keys, store::Committer& committer,
                               std::function<TimestampMs()> clock)
    : keys_(keys), committer_(committer), clock_(std::move(clock)), thread_([this] { run(); }) {}

LiveKeyCounter::~LiveKeyCounter() {
  stopping_ = true;
  keys_.stop();
  thread_.join();
}

void LiveKeyCounter::run() {
  while (const std::optional<LiveKeys::Wanted> wanted = keys_.wait_for_wanted()) {
    keys_.begin_count(wanted->scope);
    const bool complete = count(*wanted);
    keys_.end_count(wanted->scope, complete, clock_());
  }
}

bool LiveKeyCounter::count(const LiveKeys::Wanted& wanted) {
  List list;
  list.scope = wanted.scope;
  list.limit = page_records;
  while (!stopping_) {
    Operation operation = list;
    committer_.apply_now(operation);
    const auto* page = std::get_if<std::vector<Record>>(&std::get<List>(operation).outcome);
    if (!page) return false;
    // A page may be short before the end; an empty one is the end.
    if (page->empty() || !keys_.count_page(wanted, *page, clock_())) return true;
    list.after = page->back().id;
  }
  return false;
}

}  // namespace oncekey::gateway
