#include "cli/flag_values.h"

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/exit_code.h"
#include "gateway/config_units.h"
#include "http/field.h"

namespace oncekey::cli {
namespace {

std::string with_environment(std::string text, const char* const* environment) {
  constexpr std::string_view open = "{env:";
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) throw Mistake("{env: without its }");
    const std::string name = text.substr(at + open.size(), end - at - open.size());
    const char* value = nullptr;
    for (const char* const* entry = environment; *entry != nullptr; ++entry) {
      const bool named = std::strncmp(*entry, name.c_str(), name.size()) == 0;
      if (named && (*entry)[name.size()] == '=') value = *entry + name.size() + 1;
    }
    if (value == nullptr) throw Mistake("{env:" + name + "}: there is no such variable");
    text.replace(at, end + 1 - at, value);
    at += std::strlen(value);
  }
  return text;
}

Header read_header(const std::string& flag, const std::string& text,
                   const Surroundings& surroundings) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (colon == std::string::npos || !http::is_token(name)) {
    throw Mistake(flag + " takes 'Name: value', not \"" + name + "\"");
  }
  std::string value = with_environment(text.substr(colon + 1), surroundings.environment);
  value.erase(0, value.find_first_not_of(' '));
  if (value.find_first_of("\r\n") != std::string::npos) {
    throw Mistake(flag + ": a header's value is one line");
  }
  return {name, value};
}

}  // namespace

std::optional<int> mistake_in(const std::function<void()>& read, const Surroundings& surroundings) {
  try {
    read();
  } catch (const Mistake& mistake) {
    surroundings.err << "oncekey: " << mistake.what() << '\n';
    return exit_usage;
  }
  return std::nullopt;
}

std::vector<Header> read_headers(const std::string& flag, const std::vector<std::string>& texts,
                                 const Surroundings& surroundings) {
  std::vector<Header> headers;
  for (const std::string& text : texts) {
    if (!text.empty()) headers.push_back(read_header(flag, text, surroundings));
  }
  return headers;
}

DurationMs read_duration(const std::string& flag, const std::string& text) {
  const auto duration = gateway::parse_duration(text);
  if (!duration)
    throw Mistake(flag + " takes a duration such as 500ms or 3s, not \"" + text + "\"");
  return *duration;
}

verify::Place read_place(const std::string& flag, const std::string& text) {
  auto place = verify::parse_place(text);
  if (!place) throw Mistake(flag + " " + text + ": " + place.error());
  return std::move(*place);
}

std::shared_ptr<const http::ClientTls> read_ca(const std::string& flag, const std::string& file) {
  auto tls = http::ClientTls::open({.ca = file});
  if (!tls) throw Mistake(flag + ": " + tls.error());
  return std::move(*tls);
}

std::string read_body(const std::string& flag, const std::string& text) {
  if (!text.starts_with('@')) return text;
  if (text == "@-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(text.substr(1), std::ios::binary);
  try {
    if (file.is_open()) return {std::istreambuf_iterator<char>(file), {}};
  } catch (const std::ios_base::failure&) {  // a folder, or a disk that cannot be read
  }
  throw Mistake(flag + ": cannot read " + text.substr(1));
}

}  // namespace oncekey::cli
