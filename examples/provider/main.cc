// A simulated payment provider that fails on request. README.md has the API.
#include <httplib.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "ledger.h"
#include "service.h"
#include "webhooks.h"

namespace {

constexpr const char* usage =
    "usage: oncekey-example-provider --ledger FILE [--listen HOST:PORT]\n"
    "         [--webhook-url URL --webhook-secret whsec_BASE64] [--webhook-backoff-ms N]\n"
    "         [--faults SEED:RATE [--fault-kinds LIST]] [--hang-ms N]\n";

// cpp-httplib gives a connection a thread for as long as it lives, idle or not.
constexpr std::size_t connections_max = 256;
constexpr std::size_t requests_per_connection_max = 1'000'000;
constexpr time_t idle_connection_s = 60;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Flags {
 public:
  Flags(int count, char** words) {
    for (int at = 1; at < count; at += 2) {
      const std::string name = words[at];
      if (!values_.contains(name)) throw UsageError("there is no flag " + name);
      if (at + 1 == count) throw UsageError(name + " needs a value");
      values_[name] = words[at + 1];
    }
  }

  const std::string& text(const std::string& name) const { return values_.at(name); }
  long number(const std::string& name) const {
    const std::string& text = values_.at(name);
    if (text.empty() || text.size() > 9 ||
        text.find_first_not_of("0123456789") != std::string::npos) {
      throw UsageError(name + " takes a whole number, not '" + text + "'");
    }
    return std::stol(text);
  }

 private:
  std::map<std::string, std::string> values_ = {{"--listen", "127.0.0.1:0"},
                                                {"--ledger", ""},
                                                {"--webhook-url", ""},
                                                {"--webhook-secret", ""},
                                                {"--faults", ""},
                                                {"--fault-kinds", ""},
                                                {"--hang-ms", "600000"},
                                                {"--webhook-backoff-ms", "200"}};
};

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

// Returns the port that was given or found.
int bind(httplib::Server& server, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (port.empty() || port.size() > 5 ||
      port.find_first_not_of("0123456789") != std::string::npos) {
    throw UsageError("--listen takes HOST:PORT, not '" + address + "'");
  }
  const std::string host = address.substr(0, colon);
  const int wanted = std::stoi(port);
  const int bound = wanted == 0                         ? server.bind_to_any_port(host)
                    : server.bind_to_port(host, wanted) ? wanted
                                                        : -1;
  if (bound < 0) throw std::runtime_error("cannot listen on " + address);
  return bound;
}

void serve(const Flags& flags, const sigset_t& endings) {
  if (flags.text("--ledger").empty()) throw UsageError("--ledger FILE is missing");
  const provider::ServiceOptions options = options_from(flags);
  provider::Ledger ledger(flags.text("--ledger"));
  provider::WebhookSender webhooks(ledger,
                                   std::chrono::milliseconds(flags.number("--webhook-backoff-ms")));
  provider::Service service(ledger, webhooks, options);

  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(connections_max); };
  server.set_keep_alive_max_count(requests_per_connection_max);
  server.set_keep_alive_timeout(idle_connection_s);
  server.set_tcp_nodelay(true);
  // Its default, SO_REUSEPORT, would let two providers share a port without a word.
  server.set_socket_options([](int socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  service.add_routes(server);
  const int port = bind(server, flags.text("--listen"));

  std::thread ending([&] {
    int number = 0;
    sigwait(&endings, &number);
    service.stop();
    server.stop();
  });
  std::printf("{\"event\":\"listening\",\"port\":%d}\n", port);
  std::fflush(stdout);
  server.listen_after_bind();
  ending.join();
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  sigaddset(&endings, SIGINT);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);  // for every thread: one waits for them
  try {
    serve(Flags(count, words), endings);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "oncekey-example-provider: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oncekey-example-provider: %s\n", error.what());
    return 1;
  }
}
