// One logical operation: a key, and a body made from the template with values of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oncekey::verify {

struct Operation {
  std::string key;
  std::string uuid;
  std::uint64_t number = 0;
  std::string body;
};

// {{uuid}} and {{n}} become the operation's.
std::string fill_in(std::string_view pattern, const Operation& operation);
bool has_placeholder(std::string_view pattern);

// A body that means something else, made from one for whose template nothing unique is filled in.
std::string altered(const std::string& body);

}  // namespace oncekey::verify
