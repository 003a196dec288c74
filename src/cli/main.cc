// Dispatches to the commands; each has a file of its own.
#include <cstdio>
#include <cstring>

#include "cli/serve.h"

int main(int argc, char** argv) {
  oncekey::gateway::Config config;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--to")) config.upstream = argv[i + 1];
    if (!std::strcmp(argv[i], "--listen")) config.listen = argv[i + 1];
    if (!std::strcmp(argv[i], "--admin")) config.admin = argv[i + 1];
    if (!std::strcmp(argv[i], "--store")) config.store = argv[i + 1];
    if (!std::strcmp(argv[i], "--threads")) config.threads = atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--log-level")) config.log_level = oncekey::gateway::LogLevel::warn;
  }
  return oncekey::cli::run_serve(config);
}
