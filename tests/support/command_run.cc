#include "support/command_run.h"

#include <fstream>
#include <iterator>

#include "support/gateway_process.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

CommandRun run_command(const std::vector<std::string>& words, const std::string& input) {
  const TemporaryFolder folder;
  folder.write("in", input);
  // The shell opens the files and becomes the command.
  std::vector<std::string> command = {"/bin/sh", "-c",
                                      "exec \"$@\" <\"$0/in\" >\"$0/out\" 2>\"$0/err\"",
                                      folder.path().string(), oncekey_binary()};
  command.insert(command.end(), words.begin(), words.end());
  Process process(command);
  CommandRun run;
  run.exit_code = process.wait(Milliseconds(60'000)).value_or(-1);
  run.out = read_text((folder.path() / "out").string());
  run.err = read_text((folder.path() / "err").string());
  return run;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace oncekey::test
