// Keys across kills and processes: whatever is killed, the provider's ledger has one charge.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <set>

#include "oncekey/client.h"
#include "support/process.h"
#include "support/provider_process.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

class ClientProcess : public ::testing::Test {
 protected:
  std::unique_ptr<Process> start(const std::string& name, const std::string& fault = "") {
    const std::string body = "{\"amount\":100,\"currency\":\"EUR\",\"reference\":\"" + name +
                             "\",\"metadata\":{\"fault\":\"" + fault + "\"}}";
    return std::make_unique<Process>(
        std::vector<std::string>{CLIENT_OPERATION_PATH, provider_.url(), file_.path(), name, body});
  }

  static bool pauses(const Process& process) {
    return process.wait_for_line([](const std::string& line) { return line == "pause"; })
        .has_value();
  }
  // STATUS KEY BODY
  static std::string end_of(const Process& process) {
    const auto line =
        process.wait_for_line([](const std::string& text) { return text.starts_with("201 "); });
    EXPECT_TRUE(line) << process.output();
    return line.value_or("");
  }

  ProviderProcess provider_;
  TemporaryFolder folder_;
  KeyFile file_{(folder_.path() / "keys").string()};
};

TEST_F(ClientProcess, KilledAfterTheChargeItGoesOnUnderTheSameKey) {
  const auto first = start("invoice-1", "timeout-after-charge");
  ASSERT_TRUE(eventually([&] { return provider_.total("/charges") == 1; }));
  first->signal(SIGKILL);
  first->wait();
  const auto kept = file_.list();
  ASSERT_TRUE(kept) << kept.error();
  ASSERT_EQ(kept->size(), 1U);
  const auto second = start("invoice-1", "timeout-after-charge");
  const std::string line = end_of(*second);
  EXPECT_TRUE(line.starts_with("201 " + kept->front().key)) << line;
  EXPECT_EQ(second->wait(), 0);
  EXPECT_EQ(provider_.total("/charges"), 1);
  EXPECT_TRUE(file_.list()->empty());
}

TEST_F(ClientProcess, KilledBeforeTheChargeItGoesOnUnderTheSameKey) {
  const auto first = start("invoice-2", "error-500, always");
  ASSERT_TRUE(eventually([&] { return file_.list()->size() == 1; }));
  first->signal(SIGKILL);
  first->wait();
  const std::string key = file_.list()->front().key;
  const auto second = start("invoice-2");
  EXPECT_TRUE(end_of(*second).starts_with("201 " + key)) << second->output();
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(ClientProcess, KillAtAnyMomentLeavesEveryKeyThatWasKept) {
  for (int round = 1; round <= 8; ++round) {
    const std::string path = (folder_.path() / ("keys-" + std::to_string(round))).string();
    Process process({CLIENT_OPERATION_PATH, path});
    const std::string last = "name-" + std::to_string(round * 5);
    ASSERT_TRUE(process.wait_for_line([&](const std::string& line) { return line == last; }));
    process.signal(SIGKILL);
    process.wait();
    const auto entries = KeyFile(path).list();
    ASSERT_TRUE(entries) << entries.error();
    ASSERT_GT(entries->size(), static_cast<std::size_t>(round * 5));
    for (std::size_t i = 0; i < entries->size(); ++i) {
      EXPECT_EQ((*entries)[i].name, "name-" + std::to_string(i));
      EXPECT_EQ((*entries)[i].key, "key-" + std::to_string(i));
    }
    EXPECT_TRUE(KeyFile(path).take("after", "key", 1)) << "the dead process's lock is still held";
  }
}

TEST_F(ClientProcess, OutlivesTheServer) {
  provider_.kill();
  const auto client = start("invoice-3", "reset-after");
  ASSERT_TRUE(pauses(*client));
  provider_.start();
  EXPECT_NE(end_of(*client), "");
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(ClientProcess, ManyProcessesShareOneFile) {
  constexpr int count = 12;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < count; ++i) processes.push_back(start("invoice-" + std::to_string(i)));
  std::set<std::string> keys;
  for (const auto& process : processes) keys.insert(end_of(*process).substr(0, 40));
  for (const auto& process : processes) EXPECT_EQ(process->wait(), 0);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(provider_.total("/charges"), count);
  EXPECT_TRUE(file_.list()->empty());
}

TEST_F(ClientProcess, ProcessesWithOneNameAtOnceChargeOnce) {
  provider_.kill();  // so that all of them have taken the key before the first has its answer
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 4; ++i) processes.push_back(start("invoice-1", "slow:50"));
  for (const auto& process : processes) ASSERT_TRUE(pauses(*process)) << process->output();
  provider_.start();
  std::set<std::string> answers;
  for (const auto& process : processes) answers.insert(end_of(*process));
  EXPECT_EQ(answers.size(), 1U) << ::testing::PrintToString(answers);
  EXPECT_EQ(provider_.total("/charges"), 1);
}

}  // namespace
}  // namespace oncekey::test
