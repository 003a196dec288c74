#include "cli/send_options.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "http/field.h"

namespace oncekey::cli {
namespace {

constexpr int attempts_limit = 1'000'000;
constexpr std::size_t readable_name_max = 200;

// The texts of the flags, before they are understood.
struct Texts {
  std::string url;
  std::vector<std::string> headers;
  std::string body;
  std::string timeout = "30s";
  std::string give_up_after = "120s";
};

void declare(CLI::App& app, Texts& texts, SendOptions& options) {
  app.add_option("url", texts.url, "where to")->required();
  const auto what = "What is sent";
  app.add_option("-X,--method", options.operation.method, "POST unless given")->group(what);
  app.add_option("-H,--header", texts.headers, "{env:NAME} reads the environment")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("-d,--data", texts.body, "the body; @FILE reads a file, @- the standard input")
      ->type_name("BODY")
      ->group(what);
  app.add_option("--ca", options.client.ca_file,
                 "PEM file: whom https:// trusts, instead of the system's")
      ->type_name("FILE")
      ->group(what);
  const auto key = "The key";
  app.add_option("--key", options.operation.key, "instead of a random one")->group(key);
  app.add_option("--key-file", options.key_file,
                 "keeps the key until there is an answer, so that the same command goes on with it")
      ->type_name("FILE")
      ->group(key);
  app.add_option("--name", options.operation.name,
                 "of the operation in that file; made of method, URL and body unless given")
      ->group(key);
  app.add_option("--key-header", options.client.key_header, "Idempotency-Key unless given")
      ->group(key);
  app.add_flag("--quoted-key", options.client.quoted_key,
               "\"key\", for servers strict about RFC 8941")
      ->group(key);
  const auto bounds = "Bounds";
  app.add_option("--attempts", options.client.attempts_max, "at most so many; 10 unless given")
      ->check(CLI::Range(1, attempts_limit))
      ->group(bounds);
  app.add_option("--timeout", texts.timeout, "of one attempt; 30s unless given")->group(bounds);
  app.add_option("--give-up-after", texts.give_up_after, "in all; 120s unless given")
      ->group(bounds);
  const auto output = "Output";
  app.add_flag("-i,--include", options.with_head, "the answer's head before its body")
      ->group(output);
  app.add_flag("-q,--quiet", options.quiet, "nothing about retries")->group(output);
  app.add_flag("--json", options.json, "what came of it as JSON, instead of the body")
      ->group(output);
}

std::string sha256_hex(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += {digits[digest[i] >> 4], digits[digest[i] & 15]};
  return out;
}

// The same command has the same one. Headers are left out: a token may have been refreshed.
std::string name_of(const ClientOperation& operation, const std::string& url) {
  const std::string line = operation.method + " " + url;
  return line.substr(0, readable_name_max) + " " + sha256_hex(line + "\n" + operation.body);
}

bool has_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (http::equals_ignoring_case(header.name, name)) return true;
  }
  return false;
}

void read_url(const std::string& url, SendOptions& options) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) {
    throw Mistake("\"" + url + "\" is no URL; it begins with http:// or https://");
  }
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  options.base_url = url.substr(0, end);
  std::string target = url.substr(end);
  target = target.substr(0, target.find('#'));
  options.operation.target = target.starts_with('/') ? target : "/" + target;
}

void understand(const Texts& texts, SendOptions& options, const Surroundings& surroundings) {
  ClientOperation& operation = options.operation;
  read_url(texts.url, options);
  operation.headers = read_headers("-H", texts.headers, surroundings);
  operation.body = read_body("-d", texts.body);
  if (has_header(operation.headers, options.client.key_header)) {
    throw Mistake("-H " + options.client.key_header + ": say --key, so that retries keep it");
  }
  if (!operation.body.empty() && !has_header(operation.headers, "Content-Type")) {
    operation.headers.push_back({"Content-Type", "application/json"});
  }
  if (!has_header(operation.headers, "User-Agent")) {
    operation.headers.push_back({"User-Agent", "oncekey-send"});
  }
  options.client.attempt_timeout_ms = read_duration("--timeout", texts.timeout);
  options.client.deadline_ms = read_duration("--give-up-after", texts.give_up_after);
  if (options.client.attempt_timeout_ms <= 0) throw Mistake("--timeout is longer than nothing");
  if (options.client.deadline_ms <= 0) throw Mistake("--give-up-after is longer than nothing");
  if (options.key_file.empty()) {
    if (!operation.name.empty()) throw Mistake("--name needs --key-file");
  } else if (operation.name.empty()) {
    operation.name = name_of(operation, texts.url);
  }
}

}  // namespace

Result<SendOptions, int> parse_send_options(int argc, const char* const* argv,
                                            const Surroundings& surroundings) {
  CLI::App app("Send a request that may be repeated safely, until its answer is certain.",
               "oncekey send");
  app.footer(
      "Ends with 0 for an answer of 2xx, 1 for another final answer, 2 when nothing was sent, 3 "
      "when\n"
      "it may have been executed (repeat it with the same key), 4 when it was not, 5 when it may\n"
      "have been and the key is of no more use (look it up in the API).");
  Texts texts;
  SendOptions options;
  declare(app, texts, options);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto understanding = [&] { understand(texts, options, surroundings); };
  if (auto code = mistake_in(understanding, surroundings)) return *code;
  return options;
}

}  // namespace oncekey::cli
