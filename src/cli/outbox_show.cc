#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/outbox.h"
#include "cli/table.h"
#include "cli/visible.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

void print_message(JsonElement message, bool with_payload, AdminPort& port) {
  const TimestampMs now = now_ms();
  const std::string state = field(message, "state");
  Sheet sheet(port.style());
  sheet.add("id", field(message, "id"), Tone::bold);
  sheet.add("state", state, tone_of(state));
  sheet.add("destination", field(message, "destination"));
  sheet.add("message key", field(message, "message_key"));
  sheet.add("aggregate", field(message, "aggregate"));
  sheet.add("tries", field(message, "attempt"));
  sheet.add("last error", field(message, "last_error"));
  sheet.add("provider id", field(message, "provider_id"));
  sheet.add("worker", field(message, "owner"));
  sheet.add("created", instant_and_age(field(message, "created_at"), now));
  const bool waits = state == "waiting" || state == "claimed";
  if (waits) sheet.add("due", instant_and_age(field(message, "due_at"), now));
  sheet.add("delivered", instant_and_age(field(message, "delivered_at"), now));
  sheet.add("payload", field(message, "payload_bytes") + " bytes");
  simdjson::dom::object headers;
  if (message["headers"].get(headers) == simdjson::SUCCESS) {
    for (const auto& [name, value] : headers) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) {
        sheet.add("header", std::string(name) + ": " + std::string(text));
      }
    }
  }
  for (const JsonElement name : list_field(message, "header_names")) {
    std::string_view text;
    if (name.get(text) == simdjson::SUCCESS) sheet.add("header", std::string(text));
  }
  sheet.print(port.out());
  if (!with_payload) return;
  const std::string coded = field(message, "payload_base64");
  port.out() << '\n'
             << port.style().paint("payload", Tone::bold)
             << (coded.empty() ? "" : " (no text: as base64)") << '\n'
             << verify::printable(coded.empty() ? field(message, "payload") : coded) << '\n';
}

}  // namespace

int run_outbox_show(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Show one message.", "oncekey outbox show");
  AdminPort port(AdminRole::worker, surroundings);
  std::int64_t id = 0;
  bool with_payload = false;
  app.add_option("id", id, "the message's number, as outbox list shows it")
      ->required()
      ->type_name("ID")
      ->check(CLI::PositiveNumber);
  app.add_flag("--payload", with_payload,
               "its headers' values and its payload, too; needs a token that may write")
      ->group("Output");
  port.declare(app);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer =
      port.get("/v1/outbox/one" +
               query_text({{"id", std::to_string(id)}, {"payload", with_payload ? "1" : ""}}));
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
  } else {
    print_message(answer->root(), with_payload, port);
  }
  return exit_good;
}

}  // namespace oncekey::cli
