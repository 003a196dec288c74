// Bytes as PostgreSQL's text, and back: text holds neither a zero byte nor invalid UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::transaction {

// Valid UTF-8 stays readable: only a backslash is doubled. Every byte that is not part of valid
// UTF-8, and zero, becomes a backslash and three octal digits. No two inputs give the same text.
std::string to_postgres_text(std::string_view bytes);
std::string from_postgres_text(std::string_view text);

// What libpq says has several lines, and ends in a line feed: as one line, for logs and answers.
std::string one_line(std::string_view message);

// The elements of a one-dimensional text[] in binary form; a null is empty.
std::vector<std::string_view> array_elements(std::string_view binary);

// Headers as the literal of a text[] (name, value, name, value, …), and from its binary form.
std::string headers_literal(const std::vector<Header>& headers);
std::vector<Header> headers_from_array(std::string_view binary);

}  // namespace oncekey::transaction
