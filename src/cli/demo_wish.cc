#include "cli/demo_wish.h"

#include <optional>

#include "gateway/config_units.h"

namespace oncekey::cli {
namespace {

constexpr DurationMs delay_max_ms = 60'000;

constexpr struct {
  std::string_view name;
  DemoFault fault;
} faults[] = {
    {"500", DemoFault::error_500},
    {"503", DemoFault::error_503},
    {"decline", DemoFault::decline},
    {"cut", DemoFault::cut},
    {"reset", DemoFault::reset},
    {"timeout", DemoFault::timeout},
    {"drop-before", DemoFault::drop_before},
};

std::optional<DemoFault> fault_named(std::string_view name) {
  if (name.empty()) return DemoFault::none;
  for (const auto& known : faults) {
    if (known.name == name) return known.fault;
  }
  return std::nullopt;
}

}  // namespace

std::string header_value(const http::RequestHead& head, std::string_view name) {
  for (const http::Field& field : head.fields) {
    if (http::equals_ignoring_case(field.name, name)) return std::string(field.value);
  }
  return "";
}

Result<DemoWish, std::string> parse_wish(const http::RequestHead& head,
                                         const QueryParameters& parameters) {
  DemoWish wish;
  const auto fault = fault_named(header_value(head, "X-Demo-Fault"));
  if (!fault) {
    std::string known;
    for (const auto& each : faults) known.append(" ").append(each.name);
    return "X-Demo-Fault is one of" + known;
  }
  wish.fault = *fault;
  std::string delay = header_value(head, "X-Demo-Delay");
  if (delay.empty() && parameters.contains("delay")) delay = parameters.at("delay");
  if (delay.empty()) return wish;
  const auto delay_ms = gateway::parse_duration(delay);
  if (!delay_ms || *delay_ms > delay_max_ms) {
    return std::string("a delay is at most 60s and looks like 500ms or 2s");
  }
  wish.delay_ms = *delay_ms;
  return wish;
}

}  // namespace oncekey::cli
