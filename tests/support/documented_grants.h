// The GRANT lines of docs/sql.md, which operators copy.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace oncekey::test {

// Those of the block that follows `heading`, where they are `TO placeholder`, for `role`.
inline std::string documented_grants(const std::string& heading, const std::string& placeholder,
                                     const std::string& role) {
  std::ifstream file(ONCEKEY_SOURCE_DIR "/docs/sql.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t from = text.find("GRANT", text.find(heading));
  if (from == text.npos) throw std::runtime_error("docs/sql.md: no grants after " + heading);
  std::string grants = text.substr(from, text.find("```", from) - from);
  const std::string written = " TO " + placeholder + ";";
  for (std::size_t at; (at = grants.find(written)) != grants.npos;) {
    grants.replace(at, written.size(), " TO " + role + ";");
  }
  return grants;
}

}  // namespace oncekey::test
