#include "oncekey/workflow.h"

#include <algorithm>
#include <utility>

namespace oncekey {
namespace {

void check_name(const std::string& name, const std::string& what) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (!name.empty() && name.size() <= Workflow::name_size_max &&
      std::all_of(name.begin(), name.end(), printable)) {
    return;
  }
  throw Misuse(what + " is named \"" + name + "\"; a name is 1 to " +
               std::to_string(Workflow::name_size_max) +
               " visible ASCII characters without spaces, because it is stored with each record");
}

}  // namespace

Workflow::Workflow(std::string name, std::vector<Phase> phases)
    : name_(std::move(name)), phases_(std::move(phases)) {
  check_name(name_, "a workflow");
  const std::string here = "workflow \"" + name_ + "\": ";
  if (phases_.empty()) throw Misuse(here + "it has no phase; give it at least one");
  if (phases_.size() > phases_max) {
    throw Misuse(here + "more than " + std::to_string(phases_max) + " phases");
  }
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = phases_[i];
    check_name(phase.name, here + "phase " + std::to_string(i + 1));
    if (find(phase.name) != i) {
      throw Misuse(here + "two phases are named \"" + phase.name +
                   "\"; a recovery point must say which one is meant");
    }
    if (!phase.body) {
      throw Misuse(here + "phase \"" + phase.name + "\" has no body; give it one that ends with " +
                   "Next, Finish, Fail or Unknown");
    }
  }

  next_.resize(phases_.size());
  called_.resize(phases_.size());
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = phases_[i];
    if (phase.next.empty() && i + 1 < phases_.size()) next_[i].insert(i + 1);
    for (const std::string& following : phase.next) {
      const std::size_t to = find(following);
      if (to == phases_.size()) {
        throw Misuse(here + "phase \"" + phase.name + "\" leads to \"" + following +
                     "\", which is no phase of it");
      }
      if (to <= i) {
        throw Misuse(here + "phase \"" + phase.name + "\" leads back to \"" + following +
                     "\"; a phase is committed once, so only a later one may follow");
      }
      next_[i].insert(to);
    }
  }
  std::vector<bool> reached(phases_.size());
  reached[0] = true;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    if (!reached[i]) {
      throw Misuse(here + "no phase leads to \"" + phases_[i].name +
                   "\"; name it in the `next` of one, or remove it");
    }
    if (phases_[i].call) called_[i] = true;
    for (const std::size_t to : next_[i]) {
      reached[to] = true;
      if (called_[i]) called_[to] = true;
    }
  }
}

std::size_t Workflow::find(std::string_view phase) const {
  const auto at = std::find_if(phases_.begin(), phases_.end(),
                               [&](const Phase& known) { return known.name == phase; });
  return static_cast<std::size_t>(at - phases_.begin());
}

bool Workflow::leads_to(std::size_t phase, std::size_t next) const {
  return next_[phase].contains(next);
}

bool Workflow::called_by_then(std::size_t phase) const {
  return called_[phase];
}

}  // namespace oncekey
