// For tests: one delivery to a sink, on a loop in the test's own thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "http/test_loop.h"
#include "outbox/sink.h"

namespace oncekey::outbox {

inline constexpr std::int64_t test_now_s = 1614265330;

inline http::Task<void> deliver_into(Sink& sink, const Claimed& claimed, Delivery& delivery) {
  delivery = co_await sink.deliver(claimed);
}

// All at once; the results are in the order of the messages.
inline std::vector<Delivery> deliver_all(const SinkConfig& config,
                                         const std::vector<Claimed>& messages) {
  http::Loop loop;
  auto sink = open_sink(loop, config, [] { return test_now_s; });
  if (!sink) throw std::runtime_error(sink.error());
  std::vector<Delivery> deliveries(messages.size());
  http::RunningTasks tasks(loop);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    tasks.add(deliver_into(**sink, messages[i], deliveries[i]));
  }
  (*sink)->flush();
  tasks.wait();
  return deliveries;
}

inline Delivery deliver_one(const SinkConfig& config, const Claimed& claimed) {
  return deliver_all(config, {claimed}).front();
}

inline Claimed claimed_message(std::string payload = "{\"amount\":1}") {
  Claimed claimed;
  claimed.id = 17;
  claimed.claim = 1;
  claimed.attempt = 2;
  claimed.message.destination = "provider";
  claimed.message.payload = std::move(payload);
  claimed.message.message_key = "key-of-the-message";
  return claimed;
}

}  // namespace oncekey::outbox
