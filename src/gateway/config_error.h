// What is wrong with a configuration, and where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oncekey::gateway {

// Where a setting was made. Line 0: not in a file; `file` then names the variable or the flag.
struct SourcePosition {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct ConfigError {
  std::string file;
  std::uint32_t line = 0;  // from 1; 0: the file as a whole, a variable or a flag
  std::uint32_t column = 0;
  std::string message;
  std::string hint;  // what to write instead; may be empty

  bool operator==(const ConfigError&) const = default;
};
using ConfigErrors = std::vector<ConfigError>;

// `oncekey.toml:3:9: message`, and the hint on a line of its own. Ends without a newline.
inline std::string to_string(const ConfigError& error) {
  std::string text = error.file;
  if (error.line != 0) {
    text += ":" + std::to_string(error.line) + ":" + std::to_string(error.column);
  }
  text += (text.empty() ? "" : ": ") + error.message;
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  return text;
}

}  // namespace oncekey::gateway
