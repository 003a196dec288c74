// ./dev crash --payments: exits with 1 and the details when a promise was broken.
#include <stdlib.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string>

#include "payments/campaign.h"

namespace {

constexpr const char* usage_text =
    "./dev crash --payments [--count N] [--seed N] [--database sqlite|postgres] [--clients N]\n"
    "--count     payments [50000]; refunds come on top\n"
    "--seed      repeats a run in its choices\n"
    "--clients   that pay at the same time [12]\n"
    "Files are kept in memory where there is /dev/shm: processes are killed, not machines. TMPDIR\n"
    "names another place.\n";

int usage() {
  std::fputs(usage_text, stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) try {
  oncekey::test::PaymentsCampaignOptions options;
  options.seed = std::random_device()();
  options.progress = true;
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    if (i + 1 == count) return usage();
    const std::string value = words[i + 1];
    if (name == "--count") {
      options.count = std::stoull(value);
    } else if (name == "--seed") {
      options.seed = std::stoull(value);
    } else if (name == "--clients") {
      options.clients = std::stoi(value);
    } else if (name == "--database" && (value == "sqlite" || value == "postgres")) {
      options.database = value;
    } else {
      return usage();
    }
  }
  if (std::filesystem::exists("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  std::printf("payments campaign: %zu payments on %s, seed %llu\n", options.count,
              options.database.c_str(), static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  const auto report = oncekey::test::run_payments_campaign(options);
  std::fputs(report.text().c_str(), stdout);
  return report.violations.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "payments_campaign: %s\n", error.what());
  return 1;
}
