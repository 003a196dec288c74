#include "gateway/recovery_settings.h"

#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"

namespace oncekey::gateway {
namespace {

constexpr DurationMs second = 1'000;
constexpr DurationMs minute = 60 * second;
constexpr DurationMs day = 24 * 60 * minute;

}  // namespace

// A member of the target, for const and non-const targets alike.
#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

std::vector<Setting<RouteConfig>> probe_settings() {
  using R = RouteConfig;
  return {
      text_setting<R>("probe.get", AT(probe.get), check_probe),
      texts_setting<R>("probe.headers", AT(probe.headers), check_probe_header),
      text_setting<R>("probe.ca", AT(probe.tls.ca), check_anything),
      integer_setting<R>("probe.executed", AT(probe.executed), 200, 599),
      integer_setting<R>("probe.absent", AT(probe.absent), 200, 599),
      text_setting<R>("probe.found", AT(probe.found), check_pointer),
      text_setting<R>("probe.state", AT(probe.state), check_pointer),
      texts_setting<R>("probe.executed_states", AT(probe.executed_states), check_anything),
      texts_setting<R>("probe.declined_states", AT(probe.declined_states), check_anything),
      texts_setting<R>("probe.absent_states", AT(probe.absent_states), check_anything),
      text_setting<R>("probe.answer", AT(probe.answer.body_pointer), check_pointer),
      integer_setting<R>("probe.answer_status", AT(probe.answer.status), 200, 599),
      text_setting<R>("probe.answer_body", AT(probe.answer.body), check_anything),
      integer_setting<R>("probe.declined_status", AT(probe.answer.declined_status), 400, 499),
      text_setting<R>("probe.declined_body", AT(probe.answer.declined_body), check_anything),
      duration_setting<R>("probe.timeout", AT(probe.timeout_ms), 10, 10 * 60 * second),
      duration_setting<R>("probe.every", AT(probe.every_ms), 10, day),
      duration_setting<R>("probe.every_max", AT(probe.every_max_ms), 10, 30 * day),
      duration_setting<R>("probe.absent_after", AT(probe.absent_after_ms), 0, 30 * day),
      duration_setting<R>("probe.give_up_after", AT(probe.give_up_after_ms), 0, 3'650 * day),
  };
}

std::vector<Setting<Config>> webhook_settings() {
  using C = Config;
  return {
      text_setting<C>("webhook.listen", AT(webhook.listen), check_address),
      text_setting<C>("webhook.path", AT(webhook.path), check_path),
      text_setting<C>("webhook.secret_file", AT(webhook.secret_file), check_anything),
      duration_setting<C>("webhook.tolerance", AT(webhook.tolerance_ms), second, day),
      text_setting<C>("webhook.type", AT(webhook.rules.type), check_pointer),
      texts_setting<C>("webhook.executed_types", AT(webhook.rules.executed_types), check_anything),
      texts_setting<C>("webhook.declined_types", AT(webhook.rules.declined_types), check_anything),
      text_setting<C>("webhook.key", AT(webhook.rules.key), check_pointer),
      text_setting<C>("webhook.scope", AT(webhook.rules.scope), check_pointer),
      text_setting<C>("webhook.derived", AT(webhook.rules.derived), check_pointer),
      text_setting<C>("webhook.phase", AT(webhook.rules.phase), check_anything),
      text_setting<C>("webhook.answer", AT(webhook.rules.answer.body_pointer), check_pointer),
      integer_setting<C>("webhook.answer_status", AT(webhook.rules.answer.status), 200, 599),
      text_setting<C>("webhook.answer_body", AT(webhook.rules.answer.body), check_anything),
      integer_setting<C>("webhook.declined_status", AT(webhook.rules.answer.declined_status), 400,
                         499),
      text_setting<C>("webhook.declined_body", AT(webhook.rules.answer.declined_body),
                      check_anything),
  };
}

std::vector<Setting<Config>> ledger_settings() {
  using C = Config;
  return {
      text_setting<C>("ledger.get", AT(ledger.rules.get), check_ledger),
      texts_setting<C>("ledger.headers", AT(ledger.rules.headers), check_probe_header),
      text_setting<C>("ledger.ca", AT(ledger.rules.tls.ca), check_anything),
      text_setting<C>("ledger.match", AT(ledger.match), check_match),
      text_setting<C>("ledger.phase", AT(ledger.rules.phase), check_anything),
      text_setting<C>("ledger.first", AT(ledger.rules.first), check_anything),
      text_setting<C>("ledger.items", AT(ledger.rules.items), check_pointer),
      text_setting<C>("ledger.next", AT(ledger.rules.next), check_pointer),
      text_setting<C>("ledger.more", AT(ledger.rules.more), check_pointer),
      text_setting<C>("ledger.id", AT(ledger.rules.id), check_pointer),
      text_setting<C>("ledger.key", AT(ledger.rules.key), check_pointer),
      text_setting<C>("ledger.time", AT(ledger.rules.time), check_pointer),
      text_setting<C>("ledger.amount", AT(ledger.rules.amount), check_pointer),
      text_setting<C>("ledger.our_amount", AT(ledger.rules.our_amount), check_pointer),
      text_setting<C>("ledger.state", AT(ledger.rules.state), check_pointer),
      texts_setting<C>("ledger.executed_states", AT(ledger.rules.executed_states), check_anything),
      text_setting<C>("ledger.kind", AT(ledger.rules.kind), check_pointer),
      texts_setting<C>("ledger.kinds", AT(ledger.rules.kinds), check_anything),
      duration_setting<C>("ledger.window", AT(ledger.rules.window_ms), second, 366 * day),
      duration_setting<C>("ledger.margin", AT(ledger.rules.margin_ms), 0, 30 * day),
      duration_setting<C>("ledger.timeout", AT(ledger.rules.timeout_ms), second, 10 * minute),
      duration_setting<C>("ledger.every", AT(ledger.every_ms), second, 366 * day),
  };
}

#undef AT

}  // namespace oncekey::gateway
