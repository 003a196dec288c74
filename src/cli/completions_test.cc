#include "cli/completions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "cli/man.h"

namespace oncekey::cli {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char part[512];
  while (std::size_t size = std::fread(part, 1, sizeof part, pipe)) out.append(part, size);
  ::pclose(pipe);
  return out;
}

class Completions : public testing::Test {
 protected:
  Completions() : file_(testing::TempDir() + "completions-" + std::to_string(::getpid())) {}
  ~Completions() override { std::remove(file_.c_str()); }

  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }

  // What bash offers for the last of the words; a word is quoted by the test where it must be.
  std::set<std::string> offered(const std::vector<std::string>& words) {
    write(bash_completions(definition_of_program()));
    std::string list = "oncekey";
    for (const std::string& word : words) list += " '" + word + "'";
    const std::string script = ". " + file_ + "; COMP_WORDS=(" + list +
                               "); COMP_CWORD=" + std::to_string(words.size()) +
                               "; _oncekey; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    std::set<std::string> replies;
    std::string quoted;
    for (const char c : script) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    std::string out = output_of("bash -uc '" + quoted + "' 2>&1");
    for (std::size_t end; (end = out.find('\n')) != std::string::npos; out.erase(0, end + 1)) {
      if (end > 0) replies.insert(out.substr(0, end));
    }
    return replies;
  }

  std::string file_;
};

using Words = std::set<std::string>;

TEST_F(Completions, BashOffersCommandsAndThoseBelow) {
  EXPECT_EQ(offered({"sta"}), Words({"status"}));
  EXPECT_TRUE(offered({""}).contains("serve"));
  EXPECT_TRUE(offered({""}).contains("key"));
  EXPECT_EQ(offered({"key", "re"}), Words({"release", "resolve"}));
  EXPECT_EQ(offered({"outbox", ""}), Words({"discard", "list", "retry", "show"}));
}

TEST_F(Completions, BashOffersFlagsAndTheirValues) {
  EXPECT_EQ(offered({"key", "list", "--sta"}), Words({"--state"}));
  EXPECT_EQ(offered({"key", "list", "--state", "un"}), Words({"unknown"}));
  EXPECT_EQ(offered({"key", "list", "--state", "=", "un"}), Words({"unknown"}));
  EXPECT_EQ(offered({"key", "list", "--state", "="}).size(), 5u);
  EXPECT_EQ(offered({"outbox", "list", "--state", "d"}), Words({"dead", "delivered"}));
  EXPECT_EQ(offered({"completions", "f"}), Words({"fish"}));
  EXPECT_EQ(offered({"send", "-"}).count("--key-file"), 1u);
  EXPECT_EQ(offered({"key", "show", "any"}), Words()) << "keys are not known to a shell";
}

TEST_F(Completions, BashOffersFilesWhereFilesBelong) {
  write("x");
  const std::string start = file_.substr(0, file_.size() - 1);
  EXPECT_TRUE(offered({"serve", "--config", start}).contains(file_));
  EXPECT_TRUE(offered({"status", "--token-file", start}).contains(file_));
  EXPECT_TRUE(offered({"audit", start}).contains(file_));
  EXPECT_FALSE(offered({"serve", "--listen", start}).contains(file_));
}

// Every flag that a command declares is in every shell's script and in its page.
TEST_F(Completions, NothingIsLeftOut) {
  const Definition program = definition_of_program();
  const std::string bash = bash_completions(program), zsh = zsh_completions(program),
                    fish = fish_completions(program);
  const std::vector<ManPage> pages = man_pages(program, "0");
  std::size_t flags = 0;
  const auto check = [&](const Definition& command) {
    EXPECT_FALSE(command.about.empty()) << command.name;
    std::string name = "oncekey-" + command.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const auto page = std::find_if(pages.begin(), pages.end(),
                                   [&](const ManPage& one) { return one.name == name; });
    ASSERT_NE(page, pages.end()) << name;
    for (const FlagDefinition& flag : command.flags) {
      const std::string& known = flag.names.back();
      ++flags;
      EXPECT_NE(bash.find(known), std::string::npos) << known;
      EXPECT_NE(zsh.find(known + "["), std::string::npos) << known;
      const std::string in_fish = "__oncekey_at " + command.name + "'";
      EXPECT_NE(fish.find(in_fish), std::string::npos) << command.name;
      EXPECT_NE(fish.find("-l " + known.substr(2)), std::string::npos) << known;
      std::string in_page = known;
      for (std::size_t at = 0; (at = in_page.find('-', at)) != std::string::npos; at += 2) {
        in_page.insert(at, "\\");
      }
      EXPECT_NE(page->text.find(in_page), std::string::npos) << known << " in " << name;
    }
  };
  for (const Definition& command : program.children) {
    if (command.children.empty()) check(command);
    for (const Definition& child : command.children) check(child);
  }
  EXPECT_GT(flags, 150u) << "the definitions were not read";
}

TEST_F(Completions, ValuesAreReadFromTheDefinitions) {
  const Definition list = definition_of(*find_command(commands(), "key"), "").children.front();
  EXPECT_EQ(list.name, "key list");
  for (const FlagDefinition& flag : list.flags) {
    if (flag.names.back() == "--state") {
      EXPECT_EQ(flag.choices.size(), 5u);
    }
    if (flag.names.back() == "--limit") {
      EXPECT_EQ(flag.value, "N");
    }
    if (flag.names.back() == "--all") {
      EXPECT_EQ(flag.value, "");
    }
    if (flag.names.back() == "--config") {
      EXPECT_TRUE(flag.takes_file());
    }
  }
}

TEST_F(Completions, PagesAreGoodTroff) {
  if (std::system("command -v groff >/dev/null") != 0) GTEST_SKIP() << "groff is not installed";
  std::string all;
  for (const ManPage& page : man_pages(definition_of_program(), "0.1.0")) {
    write(page.text);
    EXPECT_EQ(output_of("groff -man -ww -Tutf8 -z " + file_ + " 2>&1"), "") << page.name;
  }
}

}  // namespace
}  // namespace oncekey::cli
