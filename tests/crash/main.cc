// ./dev crash: exits with 1 and the details when a promise was broken.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <random>
#include <string>

#include "crash/campaign.h"

namespace {

constexpr const char* usage_text =
    "./dev crash [--store rocksdb|sqlite|memory|postgres|redis|tiered] [--cycles N] [--seed N]\n"
    "            [--clients N] [--appendfsync always|everysec|no|off] [--logs FOLDER]\n"
    "--cycles       disturbances: 200 for one gateway on its own store, 40 for two on a shared "
    "one\n"
    "--seed         repeats a run in its choices\n"
    "--appendfsync  of Redis as the store, off: it keeps no file; losses are judged with always "
    "only\n"
    "--logs         leaves what killed gateways wrote in this folder\n";

int usage() {
  std::fputs(usage_text, stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  oncekey::test::CampaignOptions options;
  std::optional<int> cycles;
  options.seed = std::random_device()();
  options.progress = true;
  try {
    for (int i = 1; i < count; i += 2) {
      std::string name = words[i];
      if (i + 1 == count) return usage();
      std::string value = words[i + 1];
      if (name == "--cycles") {
        cycles = std::stoi(value);
      } else if (name == "--seed") {
        options.seed = std::stoull(value);
      } else if (name == "--store") {
        options.store = value;
      } else if (name == "--clients") {
        options.clients = std::stoi(value);
      } else if (name == "--appendfsync") {
        options.append_fsync = value;
      } else if (name == "--logs") {
        options.logs = value;
        std::filesystem::create_directories(value);
      } else {
        return usage();
      }
    }
    bool embedded = oncekey::test::blows_of(options.store).size() == 1;
    options.cycles = cycles.value_or(embedded ? 200 : 40);
    std::printf("crash campaign: %d disturbances, store %s, seed %llu\n", options.cycles,
                options.store.c_str(), static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    oncekey::test::CampaignReport report = oncekey::test::run_campaign(options);
    std::fputs(report.text().c_str(), stdout);
    return report.violations().empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crash_campaign: %s\n", error.what());
    return 1;
  }
}
