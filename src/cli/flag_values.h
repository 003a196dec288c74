// What flags say in a form of their own: headers, durations, bodies, URLs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/serve_options.h"
#include "oncekey/record.h"
#include "verify/subject.h"

namespace oncekey::cli {

// A user's mistake, as it is printed.
struct Mistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Prints the mistake that `read` throws, and returns the exit code for it; empty: there was none.
std::optional<int> mistake_in(const std::function<void()>& read, const Surroundings& surroundings);

// 'Name: value'; {env:NAME} in the value reads the environment. Empty texts are left out.
std::vector<Header> read_headers(const std::string& flag, const std::vector<std::string>& texts,
                                 const Surroundings& surroundings);

DurationMs read_duration(const std::string& flag, const std::string& text);

verify::Place read_place(const std::string& flag, const std::string& text);

// Whom https:// trusts: who is in the PEM file, "": whom the system does.
std::shared_ptr<const http::ClientTls> read_ca(const std::string& flag, const std::string& file);

// The text itself, the content of @FILE, or with @- all of the standard input.
std::string read_body(const std::string& flag, const std::string& text);

}  // namespace oncekey::cli
