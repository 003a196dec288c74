// What a store remembers of the reservations that it made itself: where each record lies, so that
// its settlement need not look for it; and how many records of a hold are in progress, so that a
// hold whose records are all settled is dropped without a sweeper having to look at each of them.
//
// All of it is a short cut. What is not remembered is found by its key, and swept by the sweeper.
// One for all lanes of a store: a record is reserved on one and settled on another.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::store {

template <class Place, class Hold>
class OwnReservations {
 public:
  // Of as many records at least it knows; it forgets the oldest past twice as many.
  static constexpr std::size_t records_min = 50'000;
  // Past this many that nobody has dropped, it forgets them: no sweeper works beside this store.
  static constexpr std::size_t finished_max = 20'000;

  struct Made {
    Fence fence = 0;
    std::optional<Place> place;
  };

  // `made` were reserved just now, and `hold` names them all and nothing else.
  void add(std::vector<Made> made, Hold hold) {
    auto open = std::make_shared<Open>(Open{std::move(hold), made.size()});
    std::lock_guard lock(mutex_);
    if (young_.size() >= records_min) {
      old_ = std::move(young_);
      young_.clear();
    }
    for (Made& each : made) young_[each.fence] = {std::move(each.place), open};
  }

  // Only once: whoever asks is about to move the record.
  std::vector<std::optional<Place>> take_places(std::span<const Fence> fences) {
    std::vector<std::optional<Place>> places;
    places.reserve(fences.size());
    std::lock_guard lock(mutex_);
    for (const Fence fence : fences) {
      Entry* const entry = find(fence);
      places.push_back(entry != nullptr ? std::exchange(entry->place, std::nullopt) : std::nullopt);
    }
    return places;
  }

  // Their records are durably in progress no longer. `note(number, hold)` may write into the hold
  // how the one with that number ended.
  void end(std::span<const Fence> fences) {
    end(fences, [](std::size_t, Hold&) {});
  }
  template <class Note>
  void end(std::span<const Fence> fences, Note note) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < fences.size(); ++i) {
      const Fence fence = fences[i];
      Entry* const entry = find(fence);
      if (entry == nullptr) continue;
      Open& open = *entry->hold;
      note(i, open.hold);
      if (--open.in_progress == 0) {
        if (finished_.size() >= finished_max) finished_.clear();
        finished_.push_back(std::move(open.hold));
      }
      if (young_.erase(fence) == 0) old_.erase(fence);
    }
  }

  // Holds that nothing is in progress under. Dropping them must not come before what ended it; if
  // it fails, the sweeper drops them.
  std::vector<Hold> take_finished() {
    std::lock_guard lock(mutex_);
    return std::exchange(finished_, {});
  }

 private:
  struct Open {
    Hold hold;
    std::size_t in_progress;
  };
  struct Entry {
    std::optional<Place> place;
    std::shared_ptr<Open> hold;
  };
  using Entries = std::unordered_map<Fence, Entry>;

  Entry* find(Fence fence) {
    for (Entries* entries : {&young_, &old_}) {
      if (const auto found = entries->find(fence); found != entries->end()) return &found->second;
    }
    return nullptr;
  }

  std::mutex mutex_;
  Entries young_;
  Entries old_;
  std::vector<Hold> finished_;
};

}  // namespace oncekey::store
