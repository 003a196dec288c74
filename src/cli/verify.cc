#include "cli/verify.h"

#include <ostream>

#include "cli/exit_code.h"
#include "cli/report_output.h"
#include "cli/style.h"
#include "cli/verify_options.h"

namespace oncekey::cli {
namespace {

// Whose machines the requests would go to, besides this one; "": nobody's.
std::string foreign_host(const verify::Subject& subject) {
  if (!subject.place.local()) return subject.place.server.authority;
  if (subject.second_node && !subject.second_node->local()) {
    return subject.second_node->server.authority;
  }
  if (subject.effects && !subject.effects->place.local()) {
    return subject.effects->place.server.authority;
  }
  return "";
}

verify::Progress progress_on(const Surroundings& surroundings, bool quiet) {
  if (quiet) return {[](const verify::Check&) {}, [](const verify::CheckResult&) {}};
  const bool terminal = on_terminal();
  const verify::TextStyle style{style_of_output(surroundings.environment).colour};
  std::ostream& out = surroundings.out;
  return {[&out, terminal](const verify::Check& check) {
            if (terminal) out << "…        " << check.id << std::flush;
          },
          [&out, terminal, style](const verify::CheckResult& result) {
            if (terminal) out << "\r\033[K";
            out << text_line(result, style) << std::flush;
          }};
}

int verify_now(const VerifyOptions& options, const std::vector<verify::Check>& checks,
               const Surroundings& surroundings) {
  const auto report = verify::run(options.subject, checks, progress_on(surroundings, options.json));
  if (options.json) {
    surroundings.out << to_json(report);
  } else {
    verify::TextStyle style;
    style.colour = style_of_output(surroundings.environment).colour;
    surroundings.out << text_summary(report, style);
  }
  const bool written = write_file(options.junit_file, to_junit(report), surroundings.err) &&
                       write_file(options.html_file, to_html(report), surroundings.err);
  if (!report.unusable.empty()) {
    surroundings.err << "oncekey: " << options.subject.url
                     << " cannot be verified: " << verify::printable(report.unusable) << '\n';
  }
  if (!written || !report.unusable.empty()) return exit_usage;
  return report.count(verify::Verdict::fail) == 0 ? exit_good : exit_failed;
}

}  // namespace

int run_verify(int argc, const char* const* argv, const Surroundings& surroundings) {
  const auto options = parse_verify_options(argc, argv, surroundings);
  if (!options) return options.error();
  const auto checks = verify::chosen_checks(options->choice);
  if (!checks) {
    surroundings.err << "oncekey: " << checks.error() << '\n';
    return exit_usage;
  }
  if (options->plan) {
    surroundings.out << verify::plan(options->subject, *checks);
    return exit_good;
  }
  const std::string foreign = foreign_host(options->subject);
  if (!foreign.empty() && !options->yes) {
    surroundings.err << "oncekey: " << foreign << " is another machine. This sends up to "
                     << options->subject.requests_max
                     << " requests to it that create things, many at once. If it is yours to test, "
                        "say --yes; --plan shows what would be sent.\n";
    return exit_usage;
  }
  const bool writable = can_write(options->junit_file, surroundings.err) &&
                        can_write(options->html_file, surroundings.err);
  if (!writable) return exit_usage;
  return verify_now(*options, *checks, surroundings);
}

int run_verify(int argc, char** argv) {
  return run_verify(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
