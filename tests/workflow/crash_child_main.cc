// Runs one workflow and prints its answer, unless ONCEKEY_CRASH_AT ends it before.
//   workflow_crash_child URL LEDGER SHAPE KEY
// With the shape "group": crash_group_size requests at once that share their commits.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <exception>
#include <thread>

#include "oncekey/group.h"

#include "workflow/crash_subject.h"

namespace {

using namespace oncekey;

int run_group(test::Link& link, const test::LedgerFile& ledger, const std::string& key) {
  std::vector<GroupMember> members;
  members.push_back({link.database(), test::crash_subject("one", link, ledger)});
  GroupRunner group(std::move(members));
  std::barrier together(test::crash_group_size);
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < test::crash_group_size; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      const auto outcome = group.run(test::crash_request(test::crash_group_key(key, i)));
      done += std::holds_alternative<Done>(outcome);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return done == test::crash_group_size ? 0 : 1;
}

}  // namespace

int main(int count, char** words) try {
  if (count != 5) {
    std::fprintf(stderr, "usage: workflow_crash_child URL LEDGER SHAPE KEY\n");
    return 2;
  }
  const auto link = oncekey::test::Link::open(words[1]);
  const oncekey::test::LedgerFile ledger(words[2]);
  if (std::string(words[3]) == "group") return run_group(*link, ledger, words[4]);
  oncekey::Runner runner(link->database(), oncekey::test::crash_subject(words[3], *link, ledger));
  const auto outcome = runner.run(oncekey::test::crash_request(words[4]));
  const auto* done = std::get_if<oncekey::Done>(&outcome);
  if (done == nullptr) {
    std::fprintf(stderr, "not done: outcome %zu\n", outcome.index());
    return 1;
  }
  std::printf("%s\n", done->response->body.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
