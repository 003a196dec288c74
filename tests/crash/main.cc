// ./dev crash: exits with 1 and the details when a promise was broken.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>

#include "crash/campaign.h"

namespace {

int usage() {
  std::fprintf(stderr, "crash_campaign [--cycles N] [--seed N] [--store rocksdb] [--clients N]\n");
  return 2;
}

}  // namespace

int main(int count, char** words) {
  oncekey::test::CampaignOptions options;
  options.seed = std::random_device()();
  options.progress = true;
  try {
    for (int i = 1; i < count; i += 2) {
      std::string name = words[i];
      if (i + 1 == count) return usage();
      std::string value = words[i + 1];
      if (name == "--cycles") {
        options.cycles = std::stoi(value);
      } else if (name == "--seed") {
        options.seed = std::stoull(value);
      } else if (name == "--store") {
        options.store = value;
      } else if (name == "--clients") {
        options.clients = std::stoi(value);
      } else {
        return usage();
      }
    }
    std::printf("crash campaign: %d kills, seed %llu\n", options.cycles,
                static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    oncekey::test::CampaignReport report = oncekey::test::run_campaign(options);
    std::fputs(report.text().c_str(), stdout);
    return report.violations.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crash_campaign: %s\n", error.what());
    return 1;
  }
}
