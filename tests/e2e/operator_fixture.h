// An operator at a shell: the real commands before a real gateway's admin port.
#pragma once

#include <string>
#include <vector>

#include "e2e/admin_fixture.h"
#include "e2e/shared_store.h"
#include "support/command_run.h"

namespace oncekey::test {

// Flags for an admin port and a file with the token.
inline std::vector<std::string> at_port(std::vector<std::string> words, std::uint16_t port,
                                        const std::string& token_file) {
  words.insert(words.end(), {"--admin", "http://127.0.0.1:" + std::to_string(port)});
  words.insert(words.end(), {"--token-file", token_file});
  return words;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class OperatorFixture : public AdminFixture {
 protected:
  CommandRun oncekey(std::vector<std::string> words, const std::string& token = writer) {
    const std::string file = folder_.write("token-" + token.substr(0, 6), token + "\n");
    return run_command(at_port(std::move(words), gateway_->admin_port(), file));
  }
  // Must succeed; what it printed.
  std::string done(std::vector<std::string> words) {
    const CommandRun run = oncekey(std::move(words));
    EXPECT_EQ(run.exit_code, 0) << run.all();
    EXPECT_FALSE(contains(run.all(), "\033")) << "colours in a pipe: " << run.all();
    return run.out;
  }
  void make_unknown(const std::string& key) {
    post(key, "reset-unanswered");
    ASSERT_EQ(json_text(done({"key", "show", key, "--json"}), "/state"), "unknown");
  }
};

}  // namespace oncekey::test
