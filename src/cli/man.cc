#include "cli/man.h"

#include <filesystem>
#include <ostream>

#include "admin/node_api.h"
#include "cli/flags.h"
#include "cli/report_output.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

int write_all(const std::vector<ManPage>& pages, const std::string& folder,
              const Surroundings& surroundings) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    surroundings.err << "oncekey: --into " << folder << ": " << error.message() << '\n';
    return exit_usage;
  }
  for (const ManPage& page : pages) {
    if (!write_file(folder + "/" + page.name + ".1", page.text, surroundings.err))
      return exit_failed;
  }
  return exit_good;
}

}  // namespace

int run_man(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Print the manual page of the program, or of a command, for man(1).", "oncekey man");
  std::vector<std::string> words;
  std::string folder;
  app.add_option("command", words, "such as: serve, or: key list")->type_name("COMMAND");
  app.add_option("--into", folder, "write all pages into this folder instead")->type_name("DIR");
  app.footer("To read one: oncekey man key list | man -l -");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto pages = man_pages(definition_of_program(), std::string(admin::version()));
  if (!folder.empty()) return write_all(pages, folder, surroundings);
  std::string name = "oncekey";
  for (const std::string& word : words) name += "-" + word;
  for (const ManPage& page : pages) {
    if (page.name != name) continue;
    surroundings.out << page.text;
    return exit_good;
  }
  surroundings.err << "oncekey: there is no page " << verify::printable(name)
                   << "; oncekey --help lists the commands\n";
  return exit_not_found;
}

}  // namespace oncekey::cli
