#include "cli/send.h"

#include <cstdio>
#include <ostream>
#include <stop_token>
#include <thread>

#include "boundary/json_writer.h"
#include "cli/exit_code.h"
#include "cli/send_options.h"
#include "cli/signals.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

std::string seconds(DurationMs duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(duration) / 1000.0);
  return text;
}

int exit_of(const Finished& finished) {
  if (!finished.settled) return send_unknown;
  const int status = finished.answer.status;
  return status >= 200 && status < 300 ? int{exit_good} : int{send_refused};
}

int exit_of(const GaveUp& gave_up) {
  switch (gave_up.why) {
    case GaveUp::Why::key_file:
    case GaveUp::Why::invalid:
      return send_nothing;
    case GaveUp::Why::attempts:
    case GaveUp::Why::deadline:
    case GaveUp::Why::key_expires:
    case GaveUp::Why::unprotected:
    case GaveUp::Why::aborted:
      break;
  }
  if (!gave_up.maybe_executed) return send_unreached;
  return gave_up.same_key_is_safe ? send_unknown : send_unsafe;
}

// What became of it, in a word for programs and a sentence for people.
struct Outcome {
  std::string_view word;
  std::string sentence;
};

Outcome outcome_of(int code, const std::string& key) {
  switch (code) {
    case exit_good:
      return {"done", ""};
    case send_refused:
      return {"refused", ""};
    case send_nothing:
      return {"not_sent", "Nothing was sent."};
    case send_unknown:
      return {"unknown",
              "It may have been executed. Only the same key is safe to repeat: --key " + key};
    case send_unreached:
      return {"not_executed", "It was not executed."};
    default:
      return {"unsafe", "It may have been executed, and the key " + key +
                            " would not keep it from running again. Look it up in the API first."};
  }
}

void write_answer(JsonWriter& writer, const ClientAnswer& answer) {
  writer.member("status", answer.status);
  writer.member("replayed", answer.replayed());
  writer.key("headers");
  writer.begin_array();
  for (const Header& field : answer.headers) {
    writer.begin_array();
    writer.value(field.name);
    writer.value(field.value);
    writer.end_array();
  }
  writer.end_array();
  writer.member("body", answer.body);
  writer.member("body_cut", answer.body_cut);
}

std::string summary(int code, const std::string& key, int attempts, const ClientAnswer* answer,
                    const std::string& detail) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("outcome", outcome_of(code, key).word);
  writer.member("exit_code", code);
  writer.member("key", key);
  writer.member("attempts", attempts);
  if (!detail.empty()) writer.member("detail", detail);
  if (answer != nullptr) write_answer(writer, *answer);
  writer.end_object();
  return text + "\n";
}

std::string as_curl_would(const ClientAnswer& answer, bool with_head) {
  std::string text;
  if (with_head) {
    text = "HTTP/1.1 " + std::to_string(answer.status) + "\r\n";
    for (const Header& field : answer.headers) text += field.name + ": " + field.value + "\r\n";
    text += "\r\n";
  }
  return text + answer.body;
}

class Sending {
 public:
  Sending(SendOptions options, const Surroundings& surroundings)
      : options_(std::move(options)), out_(surroundings.out), err_(surroundings.err) {}

  int run(const std::stop_token& stop) {
    KeyFile keys(options_.key_file);
    if (!options_.key_file.empty()) options_.client.key_file = &keys;
    options_.client.forget_settled = false;  // not before the answer has been written out
    options_.client.on_retry = [this](const Retry& retry) { tell(retry); };
    const Client client(options_.base_url, options_.client);
    const ClientResult result = client.run(options_.operation, stop);
    const auto* finished = std::get_if<Finished>(&result);
    return finished != nullptr ? end(*finished, keys) : end(std::get<GaveUp>(result));
  }

 private:
  void tell(const Retry& retry) {
    if (options_.quiet) return;
    err_ << "oncekey: attempt " << retry.attempts << ": " << verify::printable(retry.problem)
         << "; again in " << seconds(retry.wait_ms) << std::endl;
  }

  void say(int code, const std::string& key, const std::string& detail) {
    if (!detail.empty()) err_ << "oncekey: " << verify::printable(detail) << '\n';
    const std::string sentence = outcome_of(code, key).sentence;
    if (!sentence.empty()) err_ << "oncekey: " << sentence << '\n';
  }

  int end(const Finished& finished, KeyFile& keys) {
    const int code = exit_of(finished);
    std::string detail;
    if (code != exit_good) detail = "the answer is " + std::to_string(finished.answer.status);
    const bool written = write(code, finished.key, finished.attempts, &finished.answer, detail);
    say(code, finished.key, detail);
    if (finished.answer.body_cut) {
      err_ << "oncekey: the answer is longer than " << options_.client.answer_size_max
           << " bytes and was cut there\n";
    }
    if (!written) {
      err_ << "oncekey: the answer could not be written out; the same key gets it again: --key "
           << finished.key << '\n';
      return send_unknown;
    }
    // An entry that stays does no harm: the same command gets the same answer.
    if (finished.settled && options_.client.key_file != nullptr) {
      (void)keys.remove(options_.operation.name, finished.key);
    }
    return code;
  }

  int end(const GaveUp& gave_up) {
    const int code = exit_of(gave_up);
    const ClientAnswer* answer = gave_up.last_answer ? &*gave_up.last_answer : nullptr;
    const std::string detail = (code == send_nothing ? "" : "gave up: ") + gave_up.detail;
    write(code, gave_up.key, gave_up.attempts, answer, detail);
    say(code, gave_up.key, detail);
    return code;
  }

  bool write(int code, const std::string& key, int attempts, const ClientAnswer* answer,
             const std::string& detail) {
    if (options_.json) {
      out_ << summary(code, key, attempts, answer, detail);
    } else if (answer != nullptr) {
      out_ << as_curl_would(*answer, options_.with_head);
    }
    out_.flush();
    return static_cast<bool>(out_);
  }

  SendOptions options_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace

int run_send(int argc, const char* const* argv, const Surroundings& surroundings) {
  auto options = parse_send_options(argc, argv, surroundings);
  if (!options) return options.error();
  block_ending_signals();
  std::stop_source stop;
  // Lives as long as the process: it waits for a signal that may never come.
  std::thread([stop]() mutable {
    wait_for_ending_signal();
    stop.request_stop();
  }).detach();
  return Sending(std::move(*options), surroundings).run(stop.get_token());
}

int run_send(int argc, char** argv) {
  return run_send(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
