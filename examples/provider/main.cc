// A simulated payment provider that fails on request. README.md has the API.
#include <httplib.h>

#include <string>

#include "ledger.h"
#include "service.h"
#include "serving/flags.h"
#include "serving/server.h"
#include "webhooks.h"

namespace {

using serving::Flags;
using serving::UsageError;

constexpr const char* usage =
    "usage: oncekey-example-provider --ledger FILE [--listen HOST:PORT]\n"
    "         [--webhook-url URL --webhook-secret whsec_BASE64] [--webhook-backoff-ms N]\n"
    "         [--faults SEED:RATE [--fault-kinds LIST]] [--hang-ms N]\n";

provider::ServiceOptions options_from(const Flags& flags) {
  provider::ServiceOptions options;
  options.webhook_url = flags.text("--webhook-url");
  options.webhook_secret = flags.text("--webhook-secret");
  if (!options.webhook_url.empty() && !provider::is_secret(options.webhook_secret)) {
    throw UsageError("--webhook-url needs --webhook-secret: whsec_ and base64");
  }
  if (!flags.text("--faults").empty()) {
    auto faults =
        provider::RandomFaults::parse(flags.text("--faults"), flags.text("--fault-kinds"));
    if (const auto* complaint = std::get_if<std::string>(&faults)) throw UsageError(*complaint);
    options.random_faults = std::get<provider::RandomFaults>(faults);
  }
  options.hang_max = std::chrono::milliseconds(flags.number("--hang-ms"));
  return options;
}

void serve(const Flags& flags) {
  const provider::ServiceOptions options = options_from(flags);
  provider::Ledger ledger(flags.needed("--ledger"));
  provider::WebhookSender webhooks(ledger,
                                   std::chrono::milliseconds(flags.number("--webhook-backoff-ms")));
  provider::Service service(ledger, webhooks, options);
  httplib::Server server;
  serving::configure(server);
  service.add_routes(server);
  serving::serve(server, flags.text("--listen"), [&service] { service.stop(); });
}

}  // namespace

int main(int count, char** words) {
  serving::block_ending_signals();
  return serving::run("oncekey-example-provider", usage, [&] {
    serve(Flags(count, words,
                {{"--listen", "127.0.0.1:0"},
                 {"--ledger", ""},
                 {"--webhook-url", ""},
                 {"--webhook-secret", ""},
                 {"--faults", ""},
                 {"--fault-kinds", ""},
                 {"--hang-ms", "600000"},
                 {"--webhook-backoff-ms", "200"}}));
  });
}
