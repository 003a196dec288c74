#include "cli/migrate.h"

#include <ostream>

#include "boundary/json_writer.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "gateway/config_file.h"
#include "store/postgres_schema.h"
#include "store/sqlite_migration.h"
#include "store/store_url.h"
#include "store/url_secrets.h"

namespace oncekey::cli {
namespace {

// Another node may be migrating; it is waited for.
constexpr auto migration_patience = std::chrono::seconds(60);

struct Request {
  std::string shown_url;
  bool json = false;
  bool dry_run = false;
};

using Migrated = Result<store::MigrationReport, std::string>;

void print_json(const Request& request, const Migrated* migrated, std::ostream& out) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("store", request.shown_url);
  writer.member("dry_run", request.dry_run);
  if (migrated == nullptr) {
    writer.member("needed", false);
  } else if (*migrated) {
    const store::MigrationReport& report = **migrated;
    writer.member("version_before", report.version_before);
    writer.member("version_after", report.version_after);
    writer.key("applied");
    writer.begin_array();
    for (const std::string& name : report.applied) writer.value(name);
    writer.end_array();
  } else {
    writer.member("error", migrated->error());
  }
  writer.end_object();
  out << text << '\n';
}

void print_text(const Request& request, const Migrated& migrated,
                const Surroundings& surroundings) {
  if (!migrated) {
    surroundings.err << "oncekey: cannot migrate " << request.shown_url << ": " << migrated.error()
                     << '\n';
    return;
  }
  const store::MigrationReport& report = *migrated;
  if (report.applied.empty()) {
    surroundings.out << "nothing to do: the schema has version " << report.version_after << '\n';
    return;
  }
  for (const std::string& name : report.applied) {
    surroundings.out << (request.dry_run ? "would apply " : "applied ") << name << '\n';
  }
  surroundings.out << "the schema " << (request.dry_run ? "would go" : "went") << " from version "
                   << report.version_before << " to " << report.version_after << '\n';
}

Migrated migrate_database(const store::StoreUrl& url, bool dry_run, std::ostream& err) {
  if (url.kind == store::StoreUrl::Kind::sqlite) return store::migrate_sqlite(url.path, dry_run);
  const auto on_wait = [&err](const std::string& for_whom) {
    err << "oncekey: waiting for up to " << migration_patience.count() << " s: " << for_whom
        << std::endl;
  };
  const auto deadline = std::chrono::steady_clock::now() + migration_patience;
  const auto migrated =
      dry_run ? store::plan_migration(url.postgres, deadline)
              : store::migrate(url.postgres, deadline, store::migration_connect_patience, on_wait);
  if (!migrated) return migrated.error().message;
  return *migrated;
}

int migrate_store(const store::StoreUrl& url, const Request& request,
                  const Surroundings& surroundings) {
  if (url.postgres.empty() && url.kind != store::StoreUrl::Kind::sqlite) {
    if (request.json) {
      print_json(request, nullptr, surroundings.out);
    } else {
      surroundings.out << "nothing to do: " << request.shown_url << " needs no migration\n";
    }
    return exit_good;
  }
  const Migrated migrated = migrate_database(url, request.dry_run, surroundings.err);
  if (request.json) {
    print_json(request, &migrated, surroundings.out);
  } else {
    print_text(request, migrated, surroundings);
  }
  return migrated ? exit_good : exit_failed;
}

}  // namespace

int run_migrate(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Bring a store's database to the schema that this version expects.",
               "oncekey migrate");
  app.footer(
      "The store is that of the flag, or of ONCEKEY_STORE, or of the file. Migrations only go\n"
      "forward; all that are missing are applied in one transaction. Several nodes may do this at\n"
      "the same time.");
  std::string config_file;
  std::string store_url;
  Request request;
  app.add_option("--config", config_file, "configuration file (TOML)")->type_name("FILE");
  app.add_option("--store", store_url, "postgres://HOST/DB or sqlite:PATH")->type_name("STORE");
  app.add_flag("--dry-run", request.dry_run, "only say what would be done");
  app.add_flag("--json", request.json, "print JSON");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;

  gateway::ConfigDraft draft;
  if (app.count("--config") > 0) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  if (app.count("--store") > 0) {
    gateway::set_from_text(draft, "store", store_url, {"--store", 0, 0});
  }
  // What a gateway would take then needs no migration, and a deployment that has lost its settings
  // would go on to one that nobody has migrated.
  if (!draft.is_set("store") && app.count("--config") == 0) {
    surroundings.err << "oncekey: no store to migrate was given: use --store postgres://HOST/DB, "
                        "ONCEKEY_STORE, or --config FILE\n";
    return exit_usage;
  }
  const auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::optional);
  if (!loaded) {
    for (const gateway::ConfigError& error : loaded.error()) {
      surroundings.err << to_string(error) << '\n';
    }
    return exit_usage;
  }
  const auto url = store::parse_store_url(loaded->config.store);
  if (!url) {
    surroundings.err << "oncekey: store: " << url.error().message << '\n';
    return exit_usage;
  }
  request.shown_url = store::without_passwords(loaded->config.store);
  return migrate_store(*url, request, surroundings);
}

int run_migrate(int argc, char** argv) {
  return run_migrate(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
