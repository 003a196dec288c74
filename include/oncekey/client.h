// A client that may be interrupted anywhere: it sends one operation under one key, again and again,
// until there is an answer that a further attempt would not change.
//
//   oncekey::Client client("http://127.0.0.1:8080");
//   auto result = client.run({.target = "/payments", .body = R"({"amount":1250})"});
//
// With a KeyFile and a name, the key outlives the process: after a crash the same name goes on
// under the same key.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/key_file.h"
#include "oncekey/record.h"

namespace oncekey {

// Told before each pause: what is about to be tried again, and why.
struct Retry {
  int attempts = 0;     // made so far
  std::string problem;  // of the last one: "the answer was 503"
  DurationMs wait_ms = 0;
};

struct ClientOptions {
  int attempts_max = 10;
  DurationMs deadline_ms = 120'000;        // of the whole run, pauses included
  DurationMs attempt_timeout_ms = 30'000;  // of one attempt, from connecting to the last byte
  // A pause is a random part ("full jitter") of backoff_ms * 2^(attempts - 1), at most
  // backoff_max_ms, and never shorter than the server's Retry-After.
  DurationMs backoff_ms = 200;
  DurationMs backoff_max_ms = 30'000;
  // How long after its first attempt a key is used, unless the server has said how long by
  // Idempotency-Expires. Servers forget keys, usually after 24 h; then a retry would run again.
  DurationMs key_age_max_ms = 23 * 3'600'000;
  std::size_t answer_size_max = 16 << 20;  // a longer body is cut, and marked
  std::string key_header = "Idempotency-Key";
  bool quoted_key = false;      // "abc" instead of abc, for servers that are strict about RFC 8941
  std::string ca_file;          // PEM: whom https:// trusts; "": whom the system trusts
  KeyFile* key_file = nullptr;  // keeps the keys of operations that have a name; must outlive it
  // False: the caller removes a settled operation from the key file, once its answer is safe.
  bool forget_settled = true;
  std::function<void(const Retry&)> on_retry;  // may be empty
};

// Time, pauses and chance, for tests that want to decide them.
struct ClientSurroundings {
  std::function<TimestampMs()> wall_ms;    // since the Unix epoch
  std::function<TimestampMs()> steady_ms;  // never goes back
  std::function<void(DurationMs, const std::stop_token&)> pause;
  std::function<double()> chance;  // from 0 up to, not including, 1

  static ClientSurroundings real();
};

// One thing to be done once. Retries repeat all of it, so put nothing into it that changes.
struct ClientOperation {
  std::string method = "POST";
  std::string target = "/";     // path and query, added to the base URL
  std::vector<Header> headers;  // Host, Content-Length and the key are added
  std::string body;
  std::string key;   // "": a random UUID. One that is given is taken for one that was used before
  std::string name;  // the operation's name in the key file: never used for another one; "": none
};

struct ClientAnswer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  bool body_cut = false;

  std::string_view header(std::string_view name) const;  // the first of that name; "": none
  bool replayed() const;                                 // the answer to an earlier attempt
};

// A further attempt would get the same answer, or makes no sense before the request is corrected.
struct Finished {
  ClientAnswer answer;
  std::string key;
  int attempts = 0;
  // False: an earlier attempt may have run, and this answer (401, for example) does not tell. Only
  // the same key is safe then; the key file keeps it. True: its entry is removed.
  bool settled = true;
};

struct GaveUp {
  enum class Why {
    attempts,     // attempts_max
    deadline,     // deadline_ms is over, or would be before the next attempt
    key_expires,  // the server will have forgotten the key before the next attempt
    unprotected,  // executed without a record (Idempotency-Protected: false): it would run again
    aborted,      // by the stop token
    key_file,     // the key could not be kept or read, so nothing was sent
    invalid,      // the operation or the base URL cannot be sent as HTTP; nothing was
  };
  Why why;
  std::string detail;  // a sentence for a log, with what went wrong last
  std::string key;
  int attempts = 0;
  bool same_key_is_safe = true;  // a retry with the same key now cannot run the operation twice
  std::optional<ClientAnswer> last_answer;
  bool maybe_executed = false;  // an attempt, of this run or one before, may have run
};

std::string_view to_string(GaveUp::Why why);

using ClientResult = std::variant<Finished, GaveUp>;

// Blocks; several threads may use one.
class Client {
 public:
  // http://host[:port][/base], or https://. A URL that is not one is reported by run().
  explicit Client(std::string base_url, ClientOptions options = {},
                  ClientSurroundings surroundings = ClientSurroundings::real());

  // A stop request ends a pause and an attempt at once.
  ClientResult run(const ClientOperation& operation, const std::stop_token& stop = {}) const;

 private:
  const std::string base_url_;
  const ClientOptions options_;
  const ClientSurroundings surroundings_;
};

}  // namespace oncekey
