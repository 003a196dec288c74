#include "cli/demo_guide.h"

namespace oncekey::cli {
namespace {

void print_experiment(DemoScreen& screen, const std::string& gateway) {
  screen.blank();
  screen.heading("Now you");
  screen.line("Send this twice, then with another quantity. Lines of the tour work, too.");
  DemoRequest request;
  request.method = "POST";
  request.address = gateway;
  request.target = "/orders";
  request.headers.emplace_back("Idempotency-Key", "my-very-first-order");
  request.body = R"({"item":"mocha","quantity":1})";
  screen.request(request);
  screen.blank();
  screen.line("With a new key, make it slow or let it fail:");
  screen.line("  -H 'X-Demo-Delay: 5s'");
  screen.line("  -H 'X-Demo-Fault: cut'     also 500, 503, decline, reset, timeout, drop-before");
}

}  // namespace

void print_places(DemoScreen& screen, const DemoAddresses& addresses, const std::string& folder) {
  screen.heading("Oncekey demo: a shop that knows nothing of retries, made safe to retry");
  screen.line("gateway         http://" + addresses.gateway);
  screen.line("sample upstream http://" + addresses.upstream + "   orders and payments, in memory");
  screen.line("admin           http://" + addresses.admin);
  screen.line("store           RocksDB in " + folder);
}

void print_without_payments(DemoScreen& screen) {
  screen.blank();
  screen.line("The second part of the tour, a payment service that is killed and heals, needs");
  screen.line("oncekey-example-payments and oncekey-example-provider beside oncekey: ./dev run");
  screen.line("builds them.");
}

void print_verdict(DemoScreen& screen, int checks, int failures) {
  screen.blank();
  const std::string held = std::to_string(checks - failures);
  screen.check(failures == 0, held + " of " + std::to_string(checks) + " checks held");
}

void print_invitation(DemoScreen& screen, const DemoAddresses& addresses) {
  print_experiment(screen, addresses.gateway);
  const std::string shop = "curl http://" + addresses.upstream;
  const std::string admin = "http://" + addresses.admin;
  screen.blank();
  screen.line("What the upstream did       " + shop + "/orders");
  screen.line("How often, by key           " + shop + "/executions");
  screen.line("Keys of unknown outcome     curl '" + admin + "/v1/keys?state=unknown'");
  screen.line("Is it ready?                curl " + admin + "/readyz");
  screen.line("Metrics                     curl " + admin + "/metrics");
  screen.line("Policy, also in a browser   http://" + addresses.gateway +
              "/.well-known/idempotency");
  screen.blank();
  screen.line("Ctrl-C ends it. Until then, the gateway's log:");
  screen.blank();
}

}  // namespace oncekey::cli
