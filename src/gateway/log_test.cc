#include "gateway/log.h"

#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

namespace oncekey::gateway {
namespace {

using namespace std::string_literals;

// Reads what a log wrote to its descriptor.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  int write_end() const { return ends_[1]; }
  std::string read_all() {
    ::close(std::exchange(ends_[1], -1));
    std::string all;
    std::array<char, 4096> room;
    for (;;) {
      const ssize_t got = ::read(ends_[0], room.data(), room.size());
      if (got <= 0) return all;
      all.append(room.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int ends_[2];
};

const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts = {
      "/a\nb",
      "/a\r\nlevel=error",
      "\"}\n{\"event\":\"forged\"}",
      "\\",
      "\\\"",
      "\0\x01\x1f\x7f"s,
      "\xff\xfe\x80",
      "\xed\xa0\x80",
      "\xe2\x80\xa8",
      "caf\xc3\xa9",
      "\x1b[31mred",
      "{}[]:,'",
      std::string(5'000, '"'),
      "\xc0\xaf",
      "\xf4\x90\x80\x80",
  };
  return texts;
}

RequestLine hostile_line(std::string_view text) {
  RequestLine line;
  line.method = text;
  line.path = text;
  line.key = text;
  line.tenant = text;
  line.trace_id = text;
  line.peer = text;
  line.decision = Decision::executed;
  line.outcome = text;
  line.error = text;
  line.attempt = 2;
  line.status = 201;
  line.client_gone = true;
  line.total_us = 1'234'567;
  line.upstream_us = 99;
  return line;
}

TEST(Log, RequestIsOneValidJsonLineWhateverItHolds) {
  Log log(LogFormat::json, LogLevel::info);
  for (const std::string& text : hostile_texts()) {
    std::string out;
    log.append_request(out, hostile_line(text));
    ASSERT_TRUE(out.ends_with('\n'));
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1);
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    ASSERT_EQ(parser.parse(out).get(document), simdjson::SUCCESS) << out;
    EXPECT_EQ(std::string_view(document["event"]), "request");
    EXPECT_EQ(std::string_view(document["decision"]), "executed");
    EXPECT_EQ(int64_t(document["status"]), 201);
    EXPECT_EQ(int64_t(document["attempt"]), 2);
    EXPECT_EQ(bool(document["client_gone"]), true);
    simdjson::dom::element key;
    EXPECT_EQ(document["key"].get(key), simdjson::SUCCESS);
  }
}

TEST(Log, TextsReadBackAsTheyWere) {
  Log log(LogFormat::json, LogLevel::info);
  for (std::string text : {"/a\nb"s, "a\"b\\c"s, "caf\xc3\xa9"s, "\0x"s}) {
    std::string out;
    log.append_request(out, hostile_line(text));
    simdjson::dom::parser parser;
    simdjson::dom::element document = parser.parse(out);
    EXPECT_EQ(std::string_view(document["path"]), text);
    EXPECT_EQ(std::string_view(document["key"]), text);
  }
}

TEST(Log, TextLineStaysOneLineWithoutControlCharacters) {
  Log log(LogFormat::text, LogLevel::info);
  for (const std::string& text : hostile_texts()) {
    std::string out;
    log.append_request(out, hostile_line(text));
    ASSERT_TRUE(out.ends_with('\n'));
    out.pop_back();
    for (char c : out) {
      const auto byte = static_cast<unsigned char>(c);
      ASSERT_TRUE(byte >= 0x20 && byte != 0x7f) << testing::PrintToString(out);
    }
  }
}

TEST(Log, EmptyPartsAreLeftOut) {
  Log log(LogFormat::json, LogLevel::info);
  std::string out;
  log.append_request(out, RequestLine{});
  simdjson::dom::parser parser;
  simdjson::dom::object document = parser.parse(out);
  for (const char* name : {"key", "tenant", "error", "outcome", "attempt", "client_gone"}) {
    EXPECT_NE(document[name].error(), simdjson::SUCCESS) << name;
  }
}

TEST(Log, EventsBelowTheLevelAreNotWritten) {
  Pipe pipe;
  Log log(LogFormat::text, LogLevel::warn, pipe.write_end());
  log.event(LogLevel::debug, "quiet", {});
  log.event(LogLevel::info, "quiet", {});
  log.event(LogLevel::warn, "loud", {});
  log.event(LogLevel::error, "louder", {});
  const std::string all = pipe.read_all();
  EXPECT_EQ(all.find("quiet"), std::string::npos);
  EXPECT_NE(all.find(" warn loud"), std::string::npos);
  EXPECT_NE(all.find(" error louder"), std::string::npos);
}

TEST(Log, LevelOffSilencesEvenErrors) {
  Pipe pipe;
  Log log(LogFormat::json, LogLevel::off, pipe.write_end());
  log.event(LogLevel::error, "unheard", {});
  EXPECT_EQ(pipe.read_all(), "");
}

TEST(Log, EventFieldsKeepTheirKinds) {
  Pipe pipe;
  Log log(LogFormat::json, LogLevel::info, pipe.write_end());
  log.event(
      LogLevel::info, "started",
      {{"text", std::string_view("a\n\"b\"")}, {"number", std::int64_t(-5)}, {"truth", true}});
  const std::string all = pipe.read_all();
  simdjson::dom::parser parser;
  simdjson::dom::element document = parser.parse(all);
  EXPECT_EQ(std::string_view(document["event"]), "started");
  EXPECT_EQ(std::string_view(document["text"]), "a\n\"b\"");
  EXPECT_EQ(int64_t(document["number"]), -5);
  EXPECT_EQ(bool(document["truth"]), true);
  const std::string_view time = document["time"];
  ASSERT_EQ(time.size(), 24u);
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time.back(), 'Z');
}

TEST(Log, LinesOfSeveralThreadsAreNotMixed) {
  Pipe pipe;
  Log log(LogFormat::json, LogLevel::info, pipe.write_end());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 100; ++i) log.event(LogLevel::info, "e", {{"i", std::int64_t(i)}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  simdjson::padded_string all(pipe.read_all());
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines = parser.parse_many(all);
  int count = 0;
  for (auto line : lines) {
    EXPECT_EQ(line.error(), simdjson::SUCCESS);
    ++count;
  }
  EXPECT_EQ(count, 300);
}

TEST(Log, RequestLinesOfARoundLeaveTogether) {
  Pipe pipe;
  http::Loop loop;
  Log log(LogFormat::json, LogLevel::info, pipe.write_end());
  RequestLog requests(loop, log);
  loop.post([&] {
    requests.request(hostile_line("a"));
    requests.request(hostile_line("b"));
    loop.stop();
  });
  loop.run();
  const std::string all = pipe.read_all();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
}

TEST(Log, LogThatCannotBeWrittenStopsNothing) {
  Log log(LogFormat::json, LogLevel::info, -1);
  log.event(LogLevel::error, "lost", {});
  log.write("lost");
}

}  // namespace
}  // namespace oncekey::gateway
