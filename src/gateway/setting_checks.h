// What the text of a setting must look like. Each returns nothing, or what is wrong with it.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/config_settings.h"

namespace oncekey::gateway {

bool is_loopback(std::string_view address);  // host:port

std::optional<SettingProblem> check_anything(std::string_view text);
std::optional<SettingProblem> check_address(std::string_view text);   // host:port
std::optional<SettingProblem> check_upstream(std::string_view text);  // http(s)://host:port[/base]
std::optional<SettingProblem> check_store(std::string_view text);     // rocksdb:PATH | memory:
std::optional<SettingProblem> check_policy_url(std::string_view text);  // /path or http(s)://…
std::optional<SettingProblem> check_field_name(std::string_view text);  // RFC 9110 token
std::optional<SettingProblem> check_key_header(std::string_view text);  // and not one of HTTP's own
std::optional<SettingProblem> check_replay_header(std::string_view text);  // may be repeated (W2)
std::optional<SettingProblem> check_pointer(std::string_view text);        // RFC 6901
std::optional<SettingProblem> check_tenant_name(std::string_view text);
std::optional<SettingProblem> check_probe(std::string_view text);  // /path or http://…, with {key}
std::optional<SettingProblem> check_ledger(std::string_view text);     // http://…, with {after}
std::optional<SettingProblem> check_collector(std::string_view text);  // "" or a URL
std::optional<SettingProblem> check_path(std::string_view text);       // /path
std::optional<SettingProblem> check_match(std::string_view text);      // METHOD[,METHOD] PATH
std::optional<SettingProblem> check_probe_header(std::string_view text);  // "Name: value"

}  // namespace oncekey::gateway
