// The command line of an example: --name VALUE, each with a default.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace serving {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Flags {
 public:
  Flags(int count, char** words, std::map<std::string, std::string> defaults)
      : values_(std::move(defaults)) {
    for (int at = 1; at < count; at += 2) {
      const std::string name = words[at];
      if (!values_.contains(name)) throw UsageError("there is no flag " + name);
      if (at + 1 == count) throw UsageError(name + " needs a value");
      values_[name] = words[at + 1];
    }
  }

  const std::string& text(const std::string& name) const { return values_.at(name); }
  const std::string& needed(const std::string& name) const {
    if (text(name).empty()) throw UsageError(name + " is missing");
    return text(name);
  }
  long number(const std::string& name) const {
    const std::string& digits = text(name);
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      throw UsageError(name + " takes a whole number, not '" + digits + "'");
    }
    return std::stol(digits);
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace serving
