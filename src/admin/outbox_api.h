// The outbox of a worker's database, and its dead letters.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "admin/endpoint.h"
#include "admin/journal.h"
#include "outbox/queue.h"

namespace oncekey::admin {

class OutboxApi {
 public:
  static constexpr std::int64_t ids_max = 1'000;  // of one call

  // `database` is opened when it is first asked, on connections of its own. `wake`: tells the
  // worker that something may be due.
  OutboxApi(std::string database, Journal journal, std::function<void()> wake)
      : database_(std::move(database)), journal_(journal), wake_(std::move(wake)) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();

 private:
  // A queue is used by one thread at a time: those that look and those that change each have one.
  struct Opened {
    std::unique_ptr<outbox::Queue> queue;
  };
  using Dead = Result<std::vector<MessageId>, Reply>;
  using ChangeDead =
      std::function<outbox::Queue::Answer<std::size_t>(outbox::Queue&, std::span<const MessageId>)>;

  Reply list(const Call& call);
  Reply one(const Call& call);
  Reply change(const Call& call, std::string_view action, const ChangeDead& change_dead);
  // The dead letters that the arguments mean.
  Dead find_dead(outbox::Queue& queue, const Arguments& arguments);
  Result<outbox::Queue*, Reply> open(Opened& opened);

  const std::string database_;
  Journal journal_;
  const std::function<void()> wake_;
  Opened reading_;
  Opened changing_;
};

}  // namespace oncekey::admin
