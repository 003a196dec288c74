// A configuration while it is put together: defaults, then the file, then the environment, then the
// flags; each overrides the one before. finish_config() checks what came out as a whole.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.h"
#include "gateway/config_error.h"
#include "oncekey/result.h"

namespace oncekey::gateway {

struct ConfigDraft {
  Config config;
  // Where each setting was made, by dotted name; those of routes are "route.0.lease".
  std::map<std::string, SourcePosition, std::less<>> positions;
  ConfigErrors errors;
  ConfigErrors warnings;

  bool is_set(std::string_view name) const { return positions.find(name) != positions.end(); }
};

struct LoadedConfig {
  Config config;
  ConfigErrors warnings;  // settings that work and are probably not what was meant
};

// Sets one setting outside of routes from text, as a variable or a flag has it. Lists are separated
// by commas.
void set_from_text(ConfigDraft& draft, std::string_view name, std::string_view text,
                   const SourcePosition& position);

// ONCEKEY_ and the setting's name in capitals, with _ for the dot: ONCEKEY_LISTEN,
// ONCEKEY_TIMEOUTS_HEADER. `variables` are NAME=VALUE as in environ, ended by a null.
void read_environment(ConfigDraft& draft, const char* const* variables);
std::string variable_name(std::string_view setting_name);

// unused: for a command that serves nothing; what only concerns the gateway is not looked at.
enum class Upstream { required, optional, unused };

// Fills what depends on other settings, adds the default route when there is none, and checks what
// no single setting can know. All errors, in the order of their lines.
Result<LoadedConfig, ConfigErrors> finish_config(ConfigDraft draft, Upstream upstream);

}  // namespace oncekey::gateway
