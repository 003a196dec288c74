// A place at which one thread at a time serves: a connection, and the workflows that run on it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "connection.h"
#include "provider.h"
#include "workflows.h"

namespace payments {

struct Desk {
  Desk(const std::string& database_url, const Provider& provider,
       const std::function<oncekey::RunnerOptions(Connection&)>& options)
      : connection(Connection::open(database_url)),
        payment(connection->database(), payment_workflow(*connection, provider),
                options(*connection)),
        refund(connection->database(), refund_workflow(*connection, provider),
               options(*connection)) {}

  std::unique_ptr<Connection> connection;
  oncekey::Runner payment;
  oncekey::Runner refund;
};

// A desk for as long as it is needed; who finds none free waits.
class Desks {
 public:
  explicit Desks(std::vector<std::unique_ptr<Desk>> desks) : free_(std::move(desks)) {}

  class Seat {
   public:
    Seat(Desks& desks, std::unique_ptr<Desk> desk) : desks_(desks), desk_(std::move(desk)) {}
    ~Seat() { desks_.give_back(std::move(desk_)); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    Desk* operator->() const { return desk_.get(); }

   private:
    Desks& desks_;
    std::unique_ptr<Desk> desk_;
  };

  Seat take() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
    std::unique_ptr<Desk> desk = std::move(free_.back());
    free_.pop_back();
    lock.unlock();
    desk->connection->revive();
    return Seat(*this, std::move(desk));
  }

 private:
  void give_back(std::unique_ptr<Desk> desk) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(desk));
    given_back_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Desk>> free_;
};

}  // namespace payments
