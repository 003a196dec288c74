// Runs one workflow and prints its answer, unless ONCEKEY_CRASH_AT ends it before.
//   workflow_crash_child URL LEDGER SHAPE KEY
#include <cstdio>
#include <exception>

#include "workflow/crash_subject.h"

int main(int count, char** words) try {
  if (count != 5) {
    std::fprintf(stderr, "usage: workflow_crash_child URL LEDGER SHAPE KEY\n");
    return 2;
  }
  const auto link = oncekey::test::Link::open(words[1]);
  const oncekey::test::LedgerFile ledger(words[2]);
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
