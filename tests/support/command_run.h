// One run of the real binary, with its streams apart.
#pragma once

#include <string>
#include <vector>

namespace oncekey::test {

struct CommandRun {
  int exit_code = -1;
  std::string out;
  std::string err;

  std::string all() const { return out + err; }  // for a failure's message
};

// `words`: the command and its flags, without the binary.
CommandRun run_command(const std::vector<std::string>& words, const std::string& input = "");

std::string read_text(const std::string& path);

}  // namespace oncekey::test
