// Where a report goes.
#pragma once

#include <iosfwd>
#include <string>

namespace oncekey::cli {

bool on_terminal();

// Before anything is sent: a report that cannot be kept would be lost. "": there is none to keep.
bool can_write(const std::string& path, std::ostream& err);

bool write_file(const std::string& path, const std::string& content, std::ostream& err);

}  // namespace oncekey::cli
