// The configuration file: TOML, every key with a default, unknown keys are errors.
#pragma once

#include <string>
#include <string_view>

#include "gateway/config_draft.h"

namespace oncekey::gateway {

// Add what the file sets to the draft, and all that is wrong with it.
void read_config_text(ConfigDraft& draft, std::string_view text, const std::string& file_name);
void read_config_file(ConfigDraft& draft, const std::string& path);

// The file alone, checked, without environment or flags. The upstream may be missing.
Result<LoadedConfig, ConfigErrors> parse_config(std::string_view text,
                                                const std::string& file_name);
Result<LoadedConfig, ConfigErrors> load_config_file(const std::string& path);

}  // namespace oncekey::gateway
