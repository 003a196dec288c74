#include "support/behaviour.h"

#include <random>
#include <sstream>
#include <stdexcept>

namespace oncekey::test {
namespace {

void apply_flag(Behaviour& behaviour, const std::string& word) {
  using Ending = Behaviour::Ending;
  using Framing = Behaviour::Framing;
  if (word == "reset-at-head") {
    behaviour.ending = Ending::reset_at_head;
  } else if (word == "reset-unanswered") {
    behaviour.ending = Ending::reset_unanswered;
  } else if (word == "reset-at-first-byte") {
    behaviour.ending = Ending::reset_at_first_byte;
  } else if (word == "cut-body") {
    behaviour.ending = Ending::cut_body;
  } else if (word == "chunked") {
    behaviour.framing = Framing::chunked;
  } else if (word == "to-end") {
    behaviour.framing = Framing::to_end;
  } else if (word == "binary") {
    behaviour.binary = true;
  } else if (word == "close") {
    behaviour.close = true;
  } else if (word == "close-silently") {
    behaviour.close_silently = true;
  } else if (word == "echo") {
    behaviour.echo = true;
  } else if (word == "early-hints") {
    behaviour.early_hints = true;
  } else if (word == "answer-at-head") {
    behaviour.at_head = true;
  } else if (word == "upgrade") {
    behaviour.upgrade = true;
  } else if (word == "effect") {
    behaviour.effect = true;
  } else if (word == "no-effect") {
    behaviour.effect = false;
  } else {
    throw std::invalid_argument("unknown behaviour: " + word);
  }
}

void apply_setting(Behaviour& behaviour, const std::string& name, const std::string& value) {
  if (name == "status") {
    behaviour.status = std::stoi(value);
  } else if (name == "outcome") {
    behaviour.outcome = value;
  } else if (name == "retry-after") {
    behaviour.retry_after = value;
  } else if (name == "first") {
    behaviour.first = std::stoull(value);
  } else if (name == "hold") {
    behaviour.hold = value;
  } else if (name == "delay") {
    behaviour.delay = Milliseconds(std::stoi(value));
  } else if (name == "size") {
    behaviour.size = std::stoull(value);
  } else {
    throw std::invalid_argument("unknown behaviour: " + name);
  }
}

}  // namespace

bool Behaviour::has_effect() const {
  if (ending == Ending::reset_at_head) return effect.value_or(false);
  return effect.value_or(status != 500 && status != 501 && status != 503);
}

Behaviour parse_behaviour(std::string_view words) {
  Behaviour behaviour;
  std::istringstream stream{std::string(words)};
  for (std::string word; stream >> word;) {
    std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      apply_flag(behaviour, word);
    } else {
      apply_setting(behaviour, word.substr(0, equals), word.substr(equals + 1));
    }
  }
  return behaviour;
}

std::string made_body(std::size_t size, bool binary, std::uint64_t seed) {
  static constexpr std::string_view text = "an answer that compresses well, line after line\n";
  std::string body;
  body.reserve(size + text.size() + 8);
  if (!binary) {
    while (body.size() < size) body += text;
  } else {
    std::mt19937_64 bits(seed);
    body.append("\0\r\n\r\n\xff", 6);
    while (body.size() < size) {
      std::uint64_t word = bits();
      body.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
  }
  body.resize(size);
  return body;
}

}  // namespace oncekey::test
