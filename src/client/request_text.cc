#include "client/request_text.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "http/field.h"
#include "oncekey/key.h"

namespace oncekey::client {
namespace {

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_field_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

// The fields that this client writes itself.
bool is_ours(std::string_view name, const ClientOptions& options) {
  for (const std::string_view own :
       {std::string_view("Host"), std::string_view("Content-Length"),
        std::string_view("Transfer-Encoding"), std::string_view("Connection"),
        std::string_view(options.key_header)}) {
    if (http::equals_ignoring_case(name, own)) return true;
  }
  return false;
}

bool has_body(const ClientOperation& operation) {
  return !operation.body.empty() || (operation.method != "GET" && operation.method != "HEAD");
}

}  // namespace

std::string objection_to(const ClientOperation& operation, const std::string& key,
                         const ClientOptions& options) {
  if (!http::is_token(operation.method) || operation.method == "CONNECT") {
    return "\"" + operation.method + "\" is not a method that can be sent";
  }
  if (!operation.target.starts_with('/') || !is_visible(operation.target)) {
    return "a target begins with / and has no blanks; escape others as %XX";
  }
  const bool quotable = key.find_first_of("\"\\") == std::string::npos;
  if (key.empty() || key.size() > key_length_max || !is_visible(key) || !quotable) {
    return "a key has 1 to " + std::to_string(key_length_max) +
           " visible ASCII characters, without quotes and backslashes";
  }
  if (!http::is_token(options.key_header)) return "key_header is not a header's name";
  for (const Header& field : operation.headers) {
    if (!http::is_token(field.name) || !is_field_value(field.value)) {
      return "the header \"" + field.name + "\" has a name or value that cannot be sent";
    }
    if (is_ours(field.name, options))
      return "the header " + field.name + " is the client's to write";
  }
  return "";
}

std::string request_text(const http::HttpUrl& url, const ClientOperation& operation,
                         const std::string& key, const ClientOptions& options) {
  std::string text = operation.method + " " + url.base_path + operation.target +
                     " HTTP/1.1\r\nHost: " + url.authority + "\r\nConnection: close\r\n";
  for (const Header& field : operation.headers) text += field.name + ": " + field.value + "\r\n";
  const char* quote = options.quoted_key ? "\"" : "";
  text += options.key_header + ": " + quote + key + quote + "\r\n";
  if (has_body(operation)) {
    text += "Content-Length: " + std::to_string(operation.body.size()) + "\r\n";
  }
  return text + "\r\n" + operation.body;
}

std::string random_key() {
  std::array<std::uint8_t, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);  // version 4
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);  // RFC 9562's variant
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace oncekey::client
