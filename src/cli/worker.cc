#include "cli/worker.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "admin/worker_server.h"
#include "boundary/json_writer.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/signals.h"
#include "cli/worker_roles.h"
#include "gateway/config_file.h"
#include "gateway/log.h"
#include "outbox/worker.h"
#include "store/url_secrets.h"

namespace oncekey::cli {
namespace {

using gateway::LogLevel;

struct WorkerFlag {
  const char* name;
  const char* setting;
  const char* value;
  const char* help;
};

constexpr WorkerFlag flags[] = {
    {"--database", "worker.database", "URL",
     "postgres://… or sqlite:PATH, whose outbox is delivered [the store]"},
    {"--admin", "worker.admin", "HOST:PORT", "health and metrics [127.0.0.1:8082]"},
    {"--log-level", "log.level", "LEVEL", "debug, info, warn, error or off [info]"},
    {"--log-format", "log.format", "FORMAT", "json or text [json]"},
};

struct Request {
  gateway::Config config;
  gateway::ConfigErrors warnings;
  bool once = false;
};

std::int64_t unix_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string default_name() {
  char host[256] = "worker";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + ":" + std::to_string(::getpid());
}

// What became of each message, as log lines. Payloads and header values never get here.
class LoggedWork final : public outbox::WorkerObserver {
 public:
  explicit LoggedWork(gateway::Log& log) : log_(log) {}

  void recorded(const outbox::Claimed& claimed, const outbox::Outcome& outcome,
                bool lost) override {
    if (lost) return line(LogLevel::warn, "claim_lost", claimed, "", "");
    if (auto* delivered = std::get_if<outbox::Delivered>(&outcome.what)) {
      line(LogLevel::info, "delivered", claimed, "provider_id", delivered->provider_id);
    } else if (auto* later = std::get_if<outbox::RetryLater>(&outcome.what)) {
      line(LogLevel::warn, "retry", claimed, "error", later->error, later->after.count());
    } else if (auto* dead = std::get_if<outbox::DeadLetter>(&outcome.what)) {
      line(LogLevel::error, "dead_letter", claimed, "error", dead->error);
    } else {
      line(LogLevel::debug, "released", claimed, "", "");
    }
  }
  void queue_failed(std::string_view doing, std::string_view error) override {
    failed_ = true;
    log_.event(LogLevel::error, "outbox_unavailable", {{"doing", doing}, {"error", error}});
  }
  void queue_recovered() override { log_.event(LogLevel::info, "outbox_available", {}); }

  bool failed() const { return failed_; }

 private:
  void line(LogLevel level, std::string_view event, const outbox::Claimed& claimed,
            std::string_view name, std::string_view value, std::int64_t after_ms = -1) {
    if (!log_.enabled(level)) return;
    const gateway::LogField destination{"destination",
                                        std::string_view(claimed.message.destination)};
    const gateway::LogField id{"message_id", static_cast<std::int64_t>(claimed.id)};
    const gateway::LogField key{"key", std::string_view(claimed.message.message_key)};
    const gateway::LogField attempt{"attempt", static_cast<std::int64_t>(claimed.attempt)};
    if (after_ms >= 0) {
      log_.event(level, event,
                 {destination, id, key, attempt, {name, value}, {"after_ms", after_ms}});
    } else if (!value.empty()) {
      log_.event(level, event, {destination, id, key, attempt, {name, value}});
    } else {
      log_.event(level, event, {destination, id, key, attempt});
    }
  }

  gateway::Log& log_;
  bool failed_ = false;
};

std::string counts_json(const outbox::WorkerCounts& counts) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("claimed", counts.claimed);
  json.member("delivered", counts.delivered);
  json.member("retried", counts.retried);
  json.member("dead", counts.dead);
  json.member("released", counts.released);
  json.member("lost", counts.lost);
  json.member("taken_over", counts.taken_over);
  json.end_object();
  return text;
}

int deliver_once(outbox::Worker& worker, const LoggedWork& work, std::size_t batch_max,
                 const Surroundings& surroundings) {
  outbox::WorkerCounts all;
  for (;;) {
    const outbox::WorkerCounts counts = worker.run_once(batch_max);
    all.claimed += counts.claimed;
    all.delivered += counts.delivered;
    all.retried += counts.retried;
    all.dead += counts.dead;
    all.released += counts.released;
    all.lost += counts.lost;
    all.taken_over += counts.taken_over;
    if (counts.claimed == 0) break;
  }
  surroundings.out << counts_json(all) << '\n' << std::flush;
  return work.failed() ? exit_failed : exit_good;
}

int deliver_until_signal(outbox::Worker& worker, outbox::Queue& queue,
                         const gateway::Config& config, gateway::Log& log) {
  auto roles = WorkerRoles::start(config, log);
  if (!roles) throw std::runtime_error(roles.error());
  admin::PortOptions port;
  if (const char* token = std::getenv("ONCEKEY_ADMIN_TOKEN")) port.token = token;
  admin::WorkerServer admin(
      {worker.figures(), config, (*roles)->records(), log,
       [&roles] { return (*roles)->metrics_text(); }, [&queue] { queue.wake(); }},
      port);
  const std::string webhooks = (*roles)->webhook_address();
  if (!webhooks.empty()) {
    log.event(LogLevel::info, "webhooks", {{"listen", std::string_view(webhooks)}});
  }
  const std::string address = admin.address();
  const std::string database = store::without_passwords(config.worker.database);
  log.event(LogLevel::info, "delivering",
            {{"database", std::string_view(database)},
             {"admin", std::string_view(address)},
             {"name", std::string_view(config.worker.outbox.name)},
             {"sinks", static_cast<std::int64_t>(config.sinks.size())},
             {"pid", static_cast<std::int64_t>(::getpid())}});
  std::thread([&worker, &log, grace_ms = config.worker.grace_ms] {
    const int signal = wait_for_ending_signal();
    log.event(LogLevel::info, "draining",
              {{"signal", static_cast<std::int64_t>(signal)}, {"grace_ms", grace_ms}});
    worker.stop();
    end_at_second_signal(log);
  }).detach();
  const outbox::WorkerCounts counts = worker.run(std::chrono::milliseconds(config.worker.grace_ms));
  log.event(LogLevel::info, "stopped",
            {{"delivered", static_cast<std::int64_t>(counts.delivered)},
             {"retried", static_cast<std::int64_t>(counts.retried)},
             {"dead", static_cast<std::int64_t>(counts.dead)},
             {"released", static_cast<std::int64_t>(counts.released)}});
  return exit_good;
}

int work(Request request, const Surroundings& surroundings) {
  gateway::Config& config = request.config;
  auto fail = [&](const std::string& message, int code) {
    surroundings.err << "oncekey: " << message << '\n';
    return code;
  };
  if (config.worker.database.empty()) config.worker.database = config.store;
  if (config.sinks.empty()) {
    return fail(
        "worker: no sink is configured, so every message would be a dead letter\n"
        "  hint: [[sink]] with name = \"provider\" and url = \"http://127.0.0.1:3000/\"",
        exit_usage);
  }
  if (config.worker.outbox.name.empty()) config.worker.outbox.name = default_name();
  gateway::Log log(config.log_format, config.log_level);
  for (const gateway::ConfigError& warning : request.warnings) {
    const std::string text = to_string(warning);
    log.event(LogLevel::warn, "configuration", {{"warning", std::string_view(text)}});
  }
  if (!request.once) block_ending_signals();
  ::signal(SIGPIPE, SIG_IGN);
  auto queue = outbox::open_queue(config.worker.database);
  if (!queue) return fail("worker: " + queue.error(), exit_failed);
  LoggedWork observer(log);
  try {
    outbox::Worker worker(**queue, config.worker.outbox, config.sinks, unix_seconds, observer);
    if (request.once) {
      return deliver_once(worker, observer, config.worker.outbox.batch_max, surroundings);
    }
    return deliver_until_signal(worker, **queue, config, log);
  } catch (const std::runtime_error& error) {
    return fail(std::string("worker: ") + error.what(), exit_failed);
  }
}

}  // namespace

int run_worker(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Deliver the messages that transactions have left in a database's outbox.",
               "oncekey worker");
  app.footer(
      "The sinks that messages go to are [[sink]] blocks of the file. Flags win over the\n"
      "environment (ONCEKEY_WORKER_DATABASE, ...), which wins over the file. docs/outbox.md\n"
      "explains delivery, docs/configuration.md every setting.");
  std::string config_file;
  Request request;
  app.add_option("--config", config_file, "configuration file (TOML)")->type_name("FILE");
  std::map<std::string, std::string> values;
  for (const WorkerFlag& flag : flags) {
    app.add_option(flag.name, values[flag.name], flag.help)->type_name(flag.value);
  }
  app.add_flag("--once", request.once, "deliver what is due, print counts as JSON, and end");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;

  gateway::ConfigDraft draft;
  if (app.count("--config") > 0) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  for (const WorkerFlag& flag : flags) {
    if (app.count(flag.name) == 0) continue;
    gateway::set_from_text(draft, flag.setting, values[flag.name], {flag.name, 0, 0});
  }
  auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::unused);
  if (!loaded) {
    for (const gateway::ConfigError& error : loaded.error()) {
      surroundings.err << to_string(error) << '\n';
    }
    return exit_usage;
  }
  request.config = loaded->config;
  request.warnings = loaded->warnings;
  return work(std::move(request), surroundings);
}

int run_worker(int argc, char** argv) {
  return run_worker(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
