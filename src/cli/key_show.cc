#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/key.h"
#include "cli/key_flags.h"
#include "cli/table.h"
#include "cli/visible.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

void print_answer(JsonElement answer, bool with_body, AdminPort& port) {
  port.out() << '\n' << port.style().paint("answer", Tone::bold) << '\n';
  Sheet sheet(port.style());
  sheet.add("status", field(answer, "status"));
  simdjson::dom::object headers;
  if (answer["headers"].get(headers) == simdjson::SUCCESS) {
    for (const auto& [name, value] : headers) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) sheet.add(visible(name), std::string(text));
    }
  }
  sheet.add("unreadable", field(answer, "unreadable"), Tone::bad);
  sheet.print(port.out());
  if (!with_body) return;
  const std::string body = field(answer, "body");
  const std::string coded = field(answer, "body_base64");
  port.out() << '\n'
             << port.style().paint("body", Tone::bold) << " (" << number_field(answer, "body_bytes")
             << " bytes" << (coded.empty() ? "" : ", no text: as base64") << ")\n"
             << verify::printable(coded.empty() ? body : coded) << '\n';
}

void print_record(JsonElement record, bool with_body, AdminPort& port) {
  const TimestampMs now = now_ms();
  const std::string state = field(record, "state");
  Sheet sheet(port.style());
  sheet.add("key", field(record, "key"), Tone::bold);
  sheet.add("tenant", field(record, "tenant"));
  sheet.add("state", state, tone_of(state));
  sheet.add("request", field(record, "method") + " " + field(record, "path"));
  sheet.add("attempt", field(record, "attempt"));
  sheet.add("last error", field(record, "last_error"));
  sheet.add("recovery point", field(record, "recovery_point"));
  sheet.add("node", field(record, "owner"));
  sheet.add("fence", field(record, "fence"));
  sheet.add("created", instant_and_age(field(record, "created_at"), now));
  sheet.add("locked until", instant_and_age(field(record, "locked_until"), now));
  if (field(record, "probed") == "false") {
    sheet.add("next look", "none: its route has no probe. Find out, and say it with key resolve.",
              Tone::doubtful);
  } else {
    sheet.add("next look", instant_and_age(field(record, "reconcile_after"), now));
  }
  sheet.add("completed", instant_and_age(field(record, "completed_at"), now));
  sheet.add("expires", instant_and_age(field(record, "expires_at"), now));
  sheet.print(port.out());
  JsonElement answer;
  if (record["answer"].get(answer) == simdjson::SUCCESS) print_answer(answer, with_body, port);
}

}  // namespace

int run_key_show(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Show all that is kept of a key, with its answer's status and headers.",
               "oncekey key show");
  AdminPort port(AdminRole::gateway, surroundings);
  KeyName name;
  bool with_body = false;
  name.declare(app);
  app.add_flag("--body", with_body, "the stored answer's body, too; needs a token that may write")
      ->group("Output");
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer = port.get("/v1/keys/one" + name.query(with_body));
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
  } else {
    print_record(answer->root(), with_body, port);
  }
  return exit_good;
}

}  // namespace oncekey::cli
