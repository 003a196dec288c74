#include "transaction/postgres_text.h"

#include <cstdint>
#include <cstring>

namespace oncekey::transaction {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

bool continues(unsigned char byte) {
  return (byte & 0xc0) == 0x80;
}

// The length of the valid UTF-8 character at `i`, or 0.
std::size_t character_length(std::string_view text, std::size_t i) {
  const unsigned char a = byte_at(text, i), b = byte_at(text, i + 1), c = byte_at(text, i + 2),
                      d = byte_at(text, i + 3);
  if (a < 0x80) return a == 0 ? 0 : 1;
  if (a >= 0xc2 && a <= 0xdf) return continues(b) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool too_long = a == 0xe0 && b < 0xa0;
    const bool surrogate = a == 0xed && b > 0x9f;
    return continues(b) && continues(c) && !too_long && !surrogate ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool too_long = a == 0xf0 && b < 0x90;
    const bool too_large = a == 0xf4 && b > 0x8f;
    return continues(b) && continues(c) && continues(d) && !too_long && !too_large ? 4 : 0;
  }
  return 0;
}

// How many bytes at the start are surely ASCII without zero and backslash, looked at eight at a
// time; nearly every text is all of that.
std::size_t plain_start(std::string_view text) {
  constexpr std::uint64_t each = 0x0101010101010101;
  constexpr std::uint64_t high_bits = each * 0x80;
  // High bits where a byte is zero, and perhaps in bytes after it.
  const auto zeros = [](std::uint64_t bytes) { return (bytes - each) & ~bytes & high_bits; };
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    if (((bytes & high_bits) | zeros(bytes) | zeros(bytes ^ each * '\\')) != 0) return i;
  }
  for (; i < text.size(); ++i) {
    const unsigned char byte = byte_at(text, i);
    if (byte == 0 || byte == '\\' || byte >= 0x80) break;
  }
  return i;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | byte_at(bytes, at + i);
  return number;
}

}  // namespace

std::string to_postgres_text(std::string_view bytes) {
  const std::size_t plain = plain_start(bytes);
  std::string text(bytes.substr(0, plain));
  for (std::size_t i = plain; i < bytes.size();) {
    const std::size_t length = character_length(bytes, i);
    if (bytes[i] == '\\') {
      text += "\\\\";
      ++i;
    } else if (length > 0) {
      text += bytes.substr(i, length);
      i += length;
    } else {
      const unsigned char byte = byte_at(bytes, i++);
      text += '\\';
      text += static_cast<char>('0' + (byte >> 6));
      text += static_cast<char>('0' + (byte >> 3 & 7));
      text += static_cast<char>('0' + (byte & 7));
    }
  }
  return text;
}

std::string from_postgres_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = static_cast<char>(byte_at(text, i + 1));
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (next == '\\') {
      bytes += next;
      ++i;
    } else if (next >= '0' && next <= '3' && i + 3 < text.size()) {
      bytes +=
          static_cast<char>((next - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
      i += 3;
    } else {
      bytes += text[i];  // not written by us
    }
  }
  return bytes;
}

std::string one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    if (c == '\n') {
      if (!line.empty() && line.back() != ' ') line += "; ";
    } else if (c != '\t') {
      line.push_back(c);
    }
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == ';')) line.pop_back();
  return line;
}

std::string headers_literal(const std::vector<Header>& headers) {
  std::string literal = "{";
  auto add = [&](std::string_view bytes) {
    if (literal.size() > 1) literal += ',';
    literal += '"';
    const std::string text = to_postgres_text(bytes);
    if (text.find('"') == text.npos && text.find('\\') == text.npos) {
      literal += text;
    } else {
      for (const char c : text) {
        if (c == '"' || c == '\\') literal += '\\';
        literal += c;
      }
    }
    literal += '"';
  };
  for (const Header& header : headers) {
    add(header.name);
    add(header.value);
  }
  return literal + "}";
}

std::vector<std::string_view> array_elements(std::string_view binary) {
  std::vector<std::string_view> elements;
  constexpr std::size_t header = 20;  // dimensions, flags, type, length, first index
  if (binary.size() < header || number_at(binary, 0) != 1) return elements;
  const std::uint32_t count = number_at(binary, 12);
  std::size_t at = header;
  for (std::uint32_t i = 0; i < count && at + 4 <= binary.size(); ++i) {
    const std::uint32_t length = number_at(binary, at);
    at += 4;
    const bool null = length == 0xffff'ffff;
    if (!null && length > binary.size() - at) break;
    elements.push_back(null ? std::string_view() : binary.substr(at, length));
    if (!null) at += length;
  }
  return elements;
}

std::vector<Header> headers_from_array(std::string_view binary) {
  const std::vector<std::string_view> elements = array_elements(binary);
  std::vector<Header> headers;
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    headers.push_back({from_postgres_text(elements[i]), from_postgres_text(elements[i + 1])});
  }
  return headers;
}

}  // namespace oncekey::transaction
