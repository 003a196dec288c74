#include "cli/key_flags.h"

#include "boundary/utf8.h"
#include "cli/admin_port.h"
#include "cli/visible.h"

namespace oncekey::cli {

void KeyName::declare(CLI::App& app, bool required) {
  app.add_option("key", key, "the idempotency key")->required(required)->type_name("KEY");
  app.add_option("--tenant", tenant, "the record's tenant, as key list shows it [the only one]")
      ->type_name("TENANT");
}

std::string KeyName::query(bool with_body) const {
  return query_text({{"key", key}, {"tenant", tenant}, {"body", with_body ? "1" : ""}});
}

void declare_reason(CLI::App& app, std::string& reason) {
  app.add_option("--reason", reason, "why; it is kept")->required()->type_name("TEXT");
}

void KeyChange::declare(CLI::App& app, bool key_required) {
  name.declare(app, key_required);
  declare_reason(app, reason);
  app.add_option("--fence", fence, "only if the record still has this one, as key show had it")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

std::optional<std::string> KeyChange::write(JsonWriter& json) const {
  if (!is_utf8(name.key + name.tenant)) return "a key and a tenant are text (UTF-8)";
  if (!is_utf8(reason)) return "--reason is text (UTF-8)";
  json.member("key", name.key);
  if (!name.tenant.empty()) json.member("tenant", name.tenant);
  json.member("reason", reason);
  if (fence > 0) json.member("fence", fence);
  return std::nullopt;
}

void KeyFlags::declare(CLI::App& app) {
  const auto which = "Which keys";
  const auto add = [&](const char* name, std::string& value, const char* type, const char* about) {
    app.add_option(name, value, about)->type_name(type)->group(which);
  };
  add("--tenant", tenant, "TENANT", "only of this tenant");
  add("--route", route, "MATCH", "only of this route: its match, as route list shows it");
  add("--method", method, "METHOD", "only requests with this method");
  add("--path", path, "PATH", "only requests of this path; * as in a route's match");
  add("--key-prefix", key_prefix, "TEXT", "only keys that begin so");
  add("--older-than", older_than, "DURATION", "created longer ago: 30s, 10m, 24h, 7d");
  add("--newer-than", newer_than, "DURATION", "created within this time");
}

std::vector<std::pair<std::string_view, std::string>> KeyFlags::parameters() const {
  return {{"tenant", tenant},         {"route", route},
          {"method", method},         {"path", path},
          {"key_prefix", key_prefix}, {"older_than", older_than},
          {"newer_than", newer_than}};
}

bool KeyFlags::empty() const {
  for (const auto& [name, value] : parameters()) {
    if (!value.empty()) return false;
  }
  return true;
}

std::string name_of_key(JsonElement record) {
  return visible(field(record, "key")) + " (tenant " + visible(field(record, "tenant")) + ")";
}

}  // namespace oncekey::cli
