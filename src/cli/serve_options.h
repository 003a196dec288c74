// What `oncekey serve` was told: flags over environment over file over defaults.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "gateway/config_draft.h"
#include "oncekey/result.h"

namespace oncekey::cli {

struct ServeOptions {
  gateway::Config config;
  gateway::ConfigErrors warnings;      // for the log at start
  std::string config_file;             // "": none
  std::vector<std::string> arguments;  // as given, to read all of it again
};

// Where a command reads and writes besides its arguments.
struct Surroundings {
  const char* const* environment;  // as environ: NAME=VALUE, ended by a null
  std::ostream& out;
  std::ostream& err;
};
Surroundings process_surroundings();

// `argv[0]` is the command's own name ("serve"). The error is the exit code to end with, after
// everything that was wrong has been printed; 0 when only --help was asked for.
Result<ServeOptions, int> parse_serve_options(int argc, const char* const* argv,
                                              const Surroundings& surroundings);
Result<ServeOptions, int> parse_serve_options(int argc, char** argv);

// What the same arguments would mean now that the file may have changed. The error is what a start
// would print.
Result<gateway::LoadedConfig, std::string> read_again(const ServeOptions& options);

}  // namespace oncekey::cli
