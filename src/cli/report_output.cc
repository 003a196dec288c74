#include "cli/report_output.h"

#include <unistd.h>

#include <fstream>
#include <ostream>

namespace oncekey::cli {

bool on_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool can_write(const std::string& path, std::ostream& err) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return true;
  err << "oncekey: cannot write " << path << '\n';
  return false;
}

bool write_file(const std::string& path, const std::string& content, std::ostream& err) {
  if (path.empty()) return true;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) err << "oncekey: cannot write " << path << '\n';
  return static_cast<bool>(file);
}

}  // namespace oncekey::cli
