// A payment service on the library. README.md shows it at work; start reading in workflows.h.
#include <httplib.h>

#include <cstdio>

#include "background.h"
#include "service.h"
#include "serving/flags.h"
#include "serving/server.h"

namespace {

using serving::Flags;
using serving::UsageError;
using std::chrono::milliseconds;

constexpr const char* usage =
    "usage: oncekey-example-payments --provider URL [--database sqlite:FILE|postgres://…]\n"
    "         [--listen HOST:PORT] [--mode call|outbox] [--webhook-secret whsec_BASE64]\n"
    "         [--call-timeout-ms N] [--lease-ms N] [--every-ms N] [--patience-ms N]\n"
    "         [--connections N] [--secret TEXT]\n";

payments::ServiceOptions service_options(const Flags& flags) {
  payments::ServiceOptions options;
  const std::string& mode = flags.text("--mode");
  if (mode != "call" && mode != "outbox") {
    throw UsageError("--mode is call or outbox, not '" + mode + "'");
  }
  options.always_async = mode == "outbox";
  options.secret = flags.text("--secret");
  if (options.secret.size() < oncekey::Fingerprinter::secret_size_min) {
    throw UsageError("--secret takes at least 16 characters");
  }
  if (!flags.text("--webhook-secret").empty()) {
    auto secret = oncekey::outbox::parse_webhook_secret(flags.text("--webhook-secret"));
    if (!secret) throw UsageError("--webhook-secret: " + secret.error());
    options.webhook_secrets.push_back(*secret);
  }
  return options;
}

void serve(const Flags& flags) {
  const payments::ServiceOptions options = service_options(flags);
  const payments::Provider provider(flags.needed("--provider"),
                                    milliseconds(flags.number("--call-timeout-ms")));
  const auto runner_options = [&flags](payments::Connection& connection) {
    oncekey::RunnerOptions chosen;
    chosen.lease = milliseconds(flags.number("--lease-ms"));
    chosen.owner = "payments";
    // Never given up: the provider dedupes, and a refund that came too early counted as well.
    chosen.attempts_max = 1'000'000;
    chosen.tombstone = std::chrono::hours(24 * 30);
    chosen.reconnect = [&connection] { connection.revive(); };
    return chosen;
  };
  const auto open_desk = [&] {
    return std::make_unique<payments::Desk>(flags.text("--database"), provider, runner_options);
  };
  payments::Background background(open_desk(), provider, milliseconds(flags.number("--every-ms")),
                                  milliseconds(flags.number("--patience-ms")));
  std::vector<std::unique_ptr<payments::Desk>> places;
  for (long i = 0; i < std::max(1L, flags.number("--connections")); ++i) {
    places.push_back(open_desk());
  }
  payments::Desks desks(std::move(places));
  payments::Service service(desks, options);
  httplib::Server server;
  serving::configure(server);
  service.add_routes(server);
  serving::serve(server, flags.text("--listen"), [] {});
}

}  // namespace

int main(int count, char** words) {
  serving::block_ending_signals();
  return serving::run("oncekey-example-payments", usage, [&] {
    serve(Flags(count, words,
                {{"--listen", "127.0.0.1:0"},
                 {"--database", "sqlite:payments.db"},
                 {"--provider", ""},
                 {"--mode", "call"},
                 {"--webhook-secret", ""},
                 {"--call-timeout-ms", "5000"},
                 {"--lease-ms", "60000"},
                 {"--every-ms", "1000"},
                 {"--patience-ms", "10000"},
                 {"--connections", "8"},
                 {"--secret", "only an example's secret"}}));
  });
}
