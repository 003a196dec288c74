#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "boundary/utf8.h"
#include "cli/man.h"

namespace oncekey::cli {
namespace {

// Text that troff shows as it is. A dash stays one that can be copied into a shell.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(utf8_sequence_length(text), 1);
    const std::string_view sequence = text.substr(0, size);
    text.remove_prefix(size);
    const char c = sequence[0];
    if (size > 1) {
      char name[16];
      std::snprintf(name, sizeof name, "\\[u%04X]", utf8_code_point(sequence));
      out += name;
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c == '^' || c == '~') {
      out += c == '^' ? "\\(ha" : "\\(ti";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  // A dot at the beginning of a line would be a request.
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string page_name(const Definition& command) {
  std::string name = "oncekey" + (command.name.empty() ? "" : "-" + command.name);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string in_capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string lower_start(std::string text) {
  const bool word = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z';
  if (word && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string synopsis(const Definition& command) {
  std::string out = bold("oncekey");
  if (!command.name.empty()) out += " " + bold(command.name);
  if (!command.children.empty()) return out + " " + italic("COMMAND") + " ...";
  for (const FlagDefinition& flag : command.flags) {
    if (flag.required) out += " " + bold(flag.names.back()) + " " + italic(flag.value);
  }
  out += " [" + italic("OPTIONS") + "]";
  for (const FlagDefinition& argument : command.arguments) {
    const std::string name = italic(argument.value) + (argument.repeated ? "..." : "");
    out += argument.required ? " " + name : " [" + name + "]";
  }
  return out;
}

void append_flag(std::string& out, const FlagDefinition& flag) {
  out += ".TP\n";
  std::string heading;
  for (const std::string& name : flag.names) heading += (heading.empty() ? "" : ", ") + bold(name);
  if (!flag.value.empty()) heading += (heading.empty() ? "" : " ") + italic(flag.value);
  out += heading + "\n" + plain(flag.about);
  if (!flag.choices.empty()) {
    std::string list;
    for (const std::string& choice : flag.choices) list += (list.empty() ? "" : ", ") + choice;
    out += ": " + plain(list);
  }
  out += flag.required && !flag.names.empty() ? " (required)\n" : "\n";
}

void append_flags(std::string& out, const Definition& command) {
  std::vector<std::string> groups;
  for (const FlagDefinition& flag : command.flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  for (const std::string& group : groups) {
    if (group != "Options") out += ".SS " + plain(group) + "\n";
    for (const FlagDefinition& flag : command.flags) {
      if (flag.group == group) append_flag(out, flag);
    }
  }
}

void append_children(std::string& out, const Definition& command) {
  out += ".SH COMMANDS\n";
  for (const Definition& child : command.children) {
    out += ".TP\n.BR " + plain(page_name(child)) + " (1)\n" + plain(child.about) + "\n";
  }
}

// Of the program as a whole.
constexpr std::string_view surroundings_text =
    R"(.SH EXIT STATUS
.TP
.B 0
It was done, and all is well.
.TP
.B 1
What was checked is not well, or the work could not go on. Of a change: whether it was made is not certain.
.TP
.B 2
Wrong usage or configuration; nothing was done.
.TP
.B 3
There is no such key, message, route or page.
.TP
.B 4
Refused: the token does not allow it, or the state does not. Nothing was changed.
.TP
.B 5
Nobody answers at the admin port.
.PP
.BR oncekey\-send (1)
has exit statuses of its own.
.SH ENVIRONMENT
.TP
.BR ONCEKEY_ADMIN ", " ONCEKEY_WORKER_ADMIN
Where the commands that ask an admin port find it, unless a flag says so. Every other setting has a variable,
too:
.BR ONCEKEY_LISTEN ,
.BR ONCEKEY_STORE ,
and so on.
.TP
.B ONCEKEY_ADMIN_TOKEN
The token for the admin port. It is never given as a flag, as others can see those.
.TP
.B NO_COLOR
When set, nothing is coloured. Colours are only for terminals anyway.
.SH FILES
.TP
.I /etc/oncekey/oncekey.toml
The configuration of the service.
.TP
.I /usr/share/doc/oncekey/
All settings, the protocol, stores, and what to do when something is wrong (operations.md).
)";

std::string page_text(const Definition& command, const std::string& version) {
  const std::string name = page_name(command);
  std::string out = ".\\\" Written by `oncekey man`.\n.TH " + plain(in_capitals(name)) +
                    " 1 \"\" \"oncekey " + version + "\" \"Oncekey\"\n.SH NAME\n" + plain(name) +
                    " \\- " + plain(lower_start(first_sentence(command.about))) +
                    "\n.SH SYNOPSIS\n" + synopsis(command) + "\n.SH DESCRIPTION\n" +
                    plain(command.about) + "\n";
  if (!command.arguments.empty()) {
    out += ".SH ARGUMENTS\n";
    for (const FlagDefinition& argument : command.arguments) append_flag(out, argument);
  }
  if (!command.flags.empty()) {
    out += ".SH OPTIONS\n";
    append_flags(out, command);
  }
  if (!command.footer.empty()) out += ".SH NOTES\n" + plain(command.footer) + "\n";
  if (!command.children.empty()) append_children(out, command);
  if (command.name.empty()) {
    out += surroundings_text;
  } else {
    out += ".SH SEE ALSO\n.BR oncekey (1)\n";
  }
  return out;
}

void append_pages(std::vector<ManPage>& pages, const Definition& command,
                  const std::string& version) {
  pages.push_back({page_name(command), page_text(command, version)});
  for (const Definition& child : command.children) append_pages(pages, child, version);
}

}  // namespace

std::vector<ManPage> man_pages(const Definition& program, const std::string& version) {
  std::vector<ManPage> pages;
  append_pages(pages, program, version);
  return pages;
}

}  // namespace oncekey::cli
