#include "cli/serve.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "admin/admin_server.h"
#include "cli/exit_code.h"
#include "cli/signals.h"
#include "cli/supervisor.h"
#include "gateway/encryption.h"
#include "gateway/secret.h"
#include "gateway/service.h"
#include "gateway/span_exporter.h"
#include "store/open.h"
#include "store/url_secrets.h"

namespace oncekey::cli {

namespace {

// Every connection is a descriptor, and the usual soft limit of 1024 is soon reached.
void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int fail(std::string_view message, int code) {
  std::fprintf(stderr, "oncekey: %.*s\n", static_cast<int>(message.size()), message.data());
  return code;
}

gateway::Agree agreement_in(const store::StoreUrl& url, const store::OpenOptions& options) {
  return [&url, &options](std::string_view name, std::string_view value) {
    return store::agree_on(url, name, value, options);
  };
}

std::string status_of(const gateway::Service& service) {
  return "serving " + service.address() + " before " + service.config().upstream;
}

std::unique_ptr<gateway::Reloader> make_reloader(gateway::Service& service,
                                                 const ServeOptions& options, gateway::Log& log,
                                                 const Supervisor& supervisor) {
  return std::make_unique<gateway::Reloader>(gateway::Reloader::Parts{
      [&options] { return read_again(options); },
      [&service](const gateway::Config& config) { return service.reload(config); }, log,
      [&supervisor] { supervisor.reloading(); },
      [&service, &supervisor](const gateway::ReloadOutcome& outcome) {
        const std::string refused = outcome ? "" : "; a reload was refused: " + outcome.error();
        supervisor.ready(status_of(service) + refused);
      }});
}

// Reloads as often as it is asked to; returns the signal that ends the server.
int serve_until_ending(gateway::Service& service, const ServeOptions& options,
                       const Supervisor& supervisor) {
  std::optional<std::chrono::milliseconds> limit;
  if (supervisor.watchdog_every().count() > 0) limit = supervisor.watchdog_every();
  for (;;) {
    const int signal = wait_for_serving_signal(limit);
    // Without a file there is nothing to read again: the terminal was closed.
    if (signal == SIGHUP && !options.config_file.empty()) {
      // The log, the figures and the admin port tell what came of it.
      [[maybe_unused]] auto outcome = service.reloader()->reload("signal");
    } else if (signal != 0) {
      return signal;
    } else if (service.loops_answer_within(*limit / 2)) {
      supervisor.alive();
    }
  }
}

int serve_until_signal(gateway::Service& service, const ServeOptions& options, gateway::Log& log) {
  const gateway::Config& config = options.config;
  const Supervisor supervisor;
  service.set_reloader(make_reloader(service, options, log, supervisor));
  admin::PortOptions port;
  if (const char* token = std::getenv("ONCEKEY_ADMIN_TOKEN")) port.token = token;
  admin::AdminServer admin(service, log, port);
  service.start();  // last: whatever can fail has not
  std::string listen = service.address(), admin_address = admin.address();
  EngineInfo engine = service.engine_info();
  const std::string store = store::without_passwords(config.store);
  log.event(gateway::LogLevel::info, "listening",
            {{"listen", std::string_view(listen)},
             {"admin", std::string_view(admin_address)},
             {"upstream", std::string_view(config.upstream)},
             {"store", std::string_view(store)},
             {"durability", std::string_view(engine.durability)},
             {"pid", static_cast<std::int64_t>(::getpid())}});

  const std::string webhooks = service.webhook_address();
  if (!webhooks.empty()) {
    log.event(gateway::LogLevel::info, "webhooks", {{"listen", std::string_view(webhooks)}});
  }
  if (engine.at_risk) {
    log.event(gateway::LogLevel::warn, "store_at_risk",
              {{"reason", std::string_view(engine.durability)}});
  }

  supervisor.ready(status_of(service));
  const int signal = serve_until_ending(service, options, supervisor);
  const DurationMs grace_ms = service.config().timeouts.grace_ms;
  supervisor.stopping("finishing the requests under way");
  log.event(gateway::LogLevel::info, "draining",
            {{"signal", static_cast<std::int64_t>(signal)}, {"grace_ms", grace_ms}});
  end_at_second_signal(log);
  gateway::DrainCounts counts = service.drain(grace_ms);
  log.event(gateway::LogLevel::info, "stopped",
            {{"finished", static_cast<std::int64_t>(counts.finished)},
             {"unknown", static_cast<std::int64_t>(counts.unknown)},
             {"in_doubt", static_cast<std::int64_t>(counts.in_doubt)},
             {"clean", counts.clean}});
  if (!counts.clean) ::_exit(exit_failed);  // coroutines are still suspended; the store is durable
  return exit_good;
}

}  // namespace

int run_serve(const ServeOptions& options) {
  const gateway::Config& config = options.config;
  block_serving_signals();
  ::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  gateway::Log log(config.log_format, config.log_level);

  const auto url = store::parse_store_url(config.store);
  if (!url) return fail("store: " + url.error().message, exit_usage);
  store::OpenOptions store_options;
  store_options.clock = gateway::wall_now_ms;
  store_options.timeout_ms = gateway::batch_timeout_ms(config);
  store_options.replay_trust_ms = config.replay_trust_ms;
  gateway::SecretSources sources;
  sources.file = config.secret_file;
  if (const char* secret = std::getenv("ONCEKEY_SECRET")) sources.environment = secret;
  sources.folder = gateway::store_folder(config.store);
  if (url->keeps_agreements()) sources.agree = agreement_in(*url, store_options);
  auto secret = gateway::obtain_secret(sources, gateway::system_random);
  if (!secret) {
    std::string hint = secret.error().hint.empty() ? "" : "\n  hint: " + secret.error().hint;
    const int code = secret.error().store_failed ? exit_failed : exit_usage;
    return fail(secret.error().message + hint, code);
  }
  for (const std::string& warning : secret->warnings) {
    log.event(gateway::LogLevel::warn, "secret", {{"warning", std::string_view(warning)}});
  }
  for (const gateway::ConfigError& warning : options.warnings) {
    std::string text = to_string(warning);
    log.event(gateway::LogLevel::warn, "configuration", {{"warning", std::string_view(text)}});
  }
  store_options.secret = secret->bytes;
  auto keyring = gateway::encryption_keyring(config);
  if (!keyring) return fail(keyring.error(), exit_usage);
  store_options.sealing = {*keyring, true, [&log](const store::UnreadableAnswer& answer) {
                             log.event(gateway::LogLevel::error, "answer_unreadable",
                                       {{"key", std::string_view(answer.id.key)},
                                        {"tenant", std::string_view(answer.id.scope)},
                                        {"reason", std::string_view(answer.reason)}});
                           }};
  auto store = store::open_store(*url, store_options);
  if (!store) return fail(store.error(), exit_failed);
  try {
    std::unique_ptr<gateway::SpanExporter> spans;
    if (!config.traces.otlp.empty()) {
      gateway::SpanExporterOptions export_to;
      export_to.url = config.traces.otlp;
      export_to.percent = config.traces.percent;
      export_to.instance = config.listen;
      spans = std::make_unique<gateway::SpanExporter>(export_to);
      log.set_spans(spans.get());
    }
    gateway::Service service(config, secret->bytes, std::move(*store), log);
    return serve_until_signal(service, options, log);
  } catch (const std::runtime_error& error) {
    return fail(error.what(), exit_failed);
  }
}

}  // namespace oncekey::cli
