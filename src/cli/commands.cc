#include "cli/commands.h"

#include <ostream>

#include "cli/audit.h"
#include "cli/changes.h"
#include "cli/check.h"
#include "cli/completions.h"
#include "cli/definition.h"
#include "cli/demo.h"
#include "cli/exit_code.h"
#include "cli/healthcheck.h"
#include "cli/key.h"
#include "cli/ledger.h"
#include "cli/man.h"
#include "cli/migrate.h"
#include "cli/outbox.h"
#include "cli/reload.h"
#include "cli/route.h"
#include "cli/send.h"
#include "cli/serve.h"
#include "cli/status.h"
#include "cli/tail.h"
#include "cli/verify.h"
#include "cli/worker.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

int serve(int argc, const char* const* argv, const Surroundings& surroundings) {
  auto options = parse_serve_options(argc, argv, surroundings);
  if (!options) return options.error();
  return run_serve(*options);
}

int demo(int argc, const char* const* argv, const Surroundings&) {
  return run_demo(argc, const_cast<char**>(argv));
}

void print_children(const Command& command, std::ostream& out) {
  out << command.about << "\n\n";
  std::size_t width = 0;
  for (const Command& child : command.children) width = std::max(width, child.name.size());
  for (const Command& child : command.children) {
    out << "  oncekey " << command.name << ' ' << verify::padded(child.name, width + 2)
        << first_sentence(definition_of(child, std::string(command.name)).about) << '\n';
  }
  out << "\nEvery command explains itself with --help.\n";
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"serve", serve},
      {"check", run_check},
      {"reload", run_reload},
      {"healthcheck", run_healthcheck},
      {"status", run_status},
      {"key",
       nullptr,
       "Look keys up, and decide about unknown outcomes.",
       {{"list", run_key_list},
        {"show", run_key_show},
        {"timeline", run_key_timeline},
        {"resolve", run_key_resolve},
        {"release", run_key_release},
        {"evict", run_key_evict}}},
      {"route",
       nullptr,
       "List a gateway's routes, pause and resume them.",
       {{"list", run_route_list}, {"pause", run_route_pause}, {"resume", run_route_resume}}},
      {"outbox",
       nullptr,
       "Look at a worker's messages, retry or discard its dead letters.",
       {{"list", run_outbox_list},
        {"show", run_outbox_show},
        {"retry", run_outbox_retry},
        {"discard", run_outbox_discard}}},
      {"tail", run_tail},
      {"changes", run_changes},
      {"worker", run_worker},
      {"migrate", run_migrate},
      {"ledger", run_ledger},
      {"verify", run_verify},
      {"audit", run_audit},
      {"send", run_send},
      {"demo", demo},
      {"completions", run_completions},
      {"man", run_man},
  };
  return all;
}

const Command* find_command(const std::vector<Command>& among, std::string_view name) {
  for (const Command& command : among) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int run_command(const Command& command, int argc, const char* const* argv,
                const Surroundings& surroundings) {
  if (command.run != nullptr) return command.run(argc, argv, surroundings);
  const std::string_view name = argc > 1 ? argv[1] : "";
  const Command* child = find_command(command.children, name);
  if (child != nullptr) return child->run(argc - 1, argv + 1, surroundings);
  const bool asked = name == "help" || name == "--help" || name == "-h";
  std::ostream& out = asked ? surroundings.out : surroundings.err;
  if (!asked && !name.empty()) {
    out << "oncekey: there is no command \"" << command.name << ' ' << verify::printable(name)
        << "\"\n\n";
  }
  print_children(command, out);
  return asked ? exit_good : exit_usage;
}

}  // namespace oncekey::cli
