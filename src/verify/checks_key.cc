// Which keys are taken, and which are told apart.
#include <algorithm>

#include "verify/check.h"

namespace oncekey::verify {
namespace {

constexpr std::size_t length_max = 255;

std::string padded(const std::string& key, std::size_t size) {
  std::string text = key;
  while (text.size() < size) text += "0123456789abcdef";
  text.resize(size);
  return text;
}

// Nothing may be executed, and the status says that the request was wrong.
Finding refused(Probe& probe, const std::vector<Request>& requests, int status,
                const Operation& operation) {
  Meter meter(probe, {operation});
  std::string came;
  bool executed = false;
  bool right = true;
  for (const Request& request : requests) {
    const Answer answer = probe.send(request);
    executed = executed || answer.success();
    right = right && answer.status == status;
    came += (came.empty() ? "" : ", ") + request.what + ": " + in_short(answer);
  }
  const auto grown = meter.grown();
  if (executed || (grown && *grown > 0)) return fail("executed; " + came);
  if (!right) return fail("expected " + std::to_string(status) + "; " + came);
  return pass(came);
}

Finding missing(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request request = probe.request(operation, "no key");
  request.keys.clear();
  return refused(probe, {request}, probe.expected().missing, operation);
}

Finding empty(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request nothing = probe.request(operation, "an empty key");
  nothing.keys = {""};
  Request quotes = probe.request(operation, "empty quotes");
  quotes.keys = {"\"\""};
  return refused(probe, {nothing, quotes}, probe.expected().invalid, operation);
}

Finding too_long(Probe& probe) {
  Operation operation = probe.new_operation();
  operation.key = padded(operation.key, length_max + 1);
  return refused(probe, {probe.request(operation, "256 characters")}, probe.expected().invalid,
                 operation);
}

Finding several_lines(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request request = probe.request(operation, "two key lines");
  request.keys.push_back(probe.request(probe.new_operation(), "").keys.front());
  return refused(probe, {request}, probe.expected().invalid, operation);
}

Finding control_and_foreign(Probe& probe) {
  Operation operation = probe.new_operation();
  Request control = probe.request(operation, "a control character");
  control.keys = {operation.key + "\x01"};
  Request foreign = probe.request(operation, "an umlaut");
  foreign.keys = {operation.key + "\xc3\xbc"};
  return refused(probe, {control, foreign}, probe.expected().invalid, operation);
}

// Two operations whose keys are alike: both are executed, and neither gets the other's answer.
Finding told_apart(Probe& probe, const std::string& key, const std::string& like,
                   const std::string& how) {
  Operation one = probe.new_operation();
  one.key = key;
  Operation two = probe.new_operation();
  two.key = like;
  if (one.body == two.body) two.body = altered(one.body);
  const Answer first = probe.send(probe.request(one, "a request"));
  if (!first.success()) return fail("a key of " + how + " got " + in_short(first));
  const Answer second = probe.send(probe.request(two, "another with a key of " + how));
  if (second.success() && !second.replayed() && second.body != first.body) {
    return pass("both were executed, each with its own answer");
  }
  if (second.status == probe.expected().mismatch || second.replayed() ||
      second.body == first.body) {
    return fail("the second is taken for the first: " + in_short(second));
  }
  return fail("the second got " + in_short(second));
}

Finding whole(Probe& probe) {
  const std::string key = padded(probe.new_operation().key, length_max - 1);
  return told_apart(probe, key + "x", key + "y", "255 characters that differ in the last");
}

Finding letter_case(Probe& probe) {
  std::string key = "aBc-" + probe.new_operation().key;
  std::string other = key;
  std::transform(key.begin(), key.end(), other.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return told_apart(probe, key, other, "the same letters in upper case");
}

Finding odd_characters(Probe& probe) {
  const std::string key = probe.new_operation().key;
  return told_apart(probe, key + " +/=&;%20'", key + " +/=&;%21'",
                    "odd characters that differ in one");
}

Finding quoted_and_bare(Probe& probe) {
  if (probe.expected().profile == "stripe") return skip("Stripe's keys have no quoted form");
  const Operation operation = probe.new_operation();
  Request bare = probe.request(operation, "with a bare key");
  bare.keys = {operation.key};
  Request quoted = probe.request(operation, "with the key in quotes");
  quoted.keys = {"\"" + operation.key + "\""};
  Meter meter(probe, {operation});
  const Answer first = probe.send(quoted);
  const Answer second = probe.send(bare);
  const auto grown = meter.grown();
  const std::string came = "quoted: " + in_short(first) + ", bare: " + in_short(second);
  const std::string signs = signs_of_repetition(probe, grown, {first, second});
  if (!signs.empty()) return fail("taken for two keys: " + signs);
  if (first.success() && same_answer(first, second)) return pass("the same key; " + came);
  const int invalid = probe.expected().invalid;
  if (first.status == invalid || second.status == invalid) {
    return pass("only one form is taken, and the other refused; " + came);
  }
  return fail(came);
}

constexpr std::string_view group = "The key";

constexpr Check checks[] = {
    {"missing-key",
     group,
     "Q7",
     "A request without a key is refused, and nothing is executed.",
     "A request without the header.",
     "A client that forgets the key is not protected, and nobody notices before the first double "
     "charge.",
     Need::nothing,
     {1, 2, 0},
     missing},
    {"key-empty",
     group,
     "",
     "An empty key is no key.",
     "An empty header, and empty quotes.",
     "All clients with the same bug share one key, and get each other's answers.",
     Need::nothing,
     {2, 2, 0},
     empty},
    {"key-long",
     group,
     "",
     "A key of more than 255 characters is refused, not cut.",
     "A key of 256 characters.",
     "Keys that are cut meet, and one client gets another's answer.",
     Need::nothing,
     {1, 2, 0},
     too_long},
    {"key-whole",
     group,
     "",
     "All of a key counts, up to 255 characters.",
     "Two requests whose keys of 255 characters differ in the last one.",
     "Keys are cut when stored: two operations share an answer and one is never executed.",
     Need::body,
     {2, 0, 0},
     whole},
    {"key-case",
     group,
     "",
     "Upper and lower case letters are different keys.",
     "Two requests whose keys differ in letter case.",
     "Random keys in mixed case collide, and one operation is never executed.",
     Need::body,
     {2, 0, 0},
     letter_case},
    {"key-odd-characters",
     group,
     "",
     "Printable characters of a key are kept as they are.",
     "Two requests whose keys have blanks, signs and escapes, and differ in one of them.",
     "Keys that are decoded or trimmed meet, or are refused at random.",
     Need::body,
     {2, 0, 0},
     odd_characters},
    {"key-not-ascii",
     group,
     "",
     "Control and non-ASCII characters in a key are refused.",
     "A key with a control character, and one with an umlaut.",
     "Two systems read different keys from the same bytes.",
     Need::nothing,
     {2, 2, 0},
     control_and_foreign},
    {"key-several-lines",
     group,
     "",
     "Two key headers are refused.",
     "A request with two different key lines.",
     "A proxy and the API may each choose another line: the retry then has another key.",
     Need::nothing,
     {1, 2, 0},
     several_lines},
    {"key-quoted",
     group,
     "",
     "\"abc\" and abc are the same key, or one form is refused.",
     "A request with its key in quotes, and the same with it bare.",
     "A client library that changes how it writes the header executes everything again.",
     Need::nothing,
     {2, 2, 0},
     quoted_and_bare},
};

}  // namespace

std::span<const Check> key_checks() {
  return checks;
}

}  // namespace oncekey::verify
