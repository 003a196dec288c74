#include "client/attempt.h"

#include <chrono>
#include <memory>

#include "client/connection.h"
#include "http/body_decoder.h"
#include "http/framing.h"
#include "http/head.h"

namespace oncekey::client {
namespace {

// Reads heads until one that is not interim. The error is "" when there is one.
std::string read_head(Connection& connection, std::string& input, http::ResponseHead& head) {
  const http::HeadLimits limits;
  do {
    http::HeadScanner scanner;
    for (;;) {
      const auto found = scanner.scan(input, limits.bytes);
      if (found == http::HeadScanner::Found::complete) break;
      if (found != http::HeadScanner::Found::incomplete) return "the answer's head is malformed";
      if (!connection.receive(input)) return connection.error();
    }
    const std::size_t begin = scanner.head_begin();
    const std::string text = input.substr(begin, scanner.head_end() - begin);
    if (auto refusal = head.parse(text, limits))
      return "the answer is malformed: " + refusal->reason;
    if (head.status == 101) return "the answer switches protocols unasked";
    input.erase(0, scanner.head_end());
  } while (head.status < 200);
  return "";
}

SteadyTime deadline_of(const Attempt& attempt) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(attempt.timeout_ms);
}

std::string read_body(Connection& connection, std::string& input, const http::Framing& framing,
                      const Attempt& attempt, ClientAnswer& answer) {
  const std::size_t size_max = attempt.answer_size_max;
  const bool streamed = attempt.on_body && answer.status == 200;
  http::BodyDecoder decoder(framing);
  while (!decoder.done()) {
    const http::BodyDecoder::Step step = decoder.step(input);
    if (streamed) {
      if (!step.data.empty()) attempt.on_body(step.data);
      connection.set_deadline(deadline_of(attempt));
    } else {
      answer.body.append(step.data);
    }
    input.erase(0, step.consumed);
    if (step.status == http::BodyDecoder::Status::bad)
      return "the answer is malformed: " + decoder.error();
    if (answer.body.size() > size_max) {
      answer.body.resize(size_max);
      answer.body_cut = true;
      return "";
    }
    if (step.status != http::BodyDecoder::Status::need_more || decoder.done()) continue;
    if (!connection.receive(input)) {
      const bool proper = connection.ended() && decoder.ends_at_close();
      return proper ? "" : connection.error();
    }
  }
  return "";
}

}  // namespace

AttemptOutcome perform(const Attempt& attempt, const std::stop_token& stop) {
  std::shared_ptr<const http::ClientTls> tls = attempt.tls;
  if (attempt.url.secure && !tls) tls = http::system_tls();
  Connection connection(deadline_of(attempt), stop);
  const http::ClientTls* used = attempt.url.secure ? tls.get() : nullptr;
  if (!connection.connect(attempt.url, used)) return NothingSent{connection.error()};
  // A server may refuse before it has read everything: half a request can have a whole answer.
  if (!connection.send(attempt.bytes) && !connection.sent()) return NothingSent{connection.error()};
  std::string input;
  http::ResponseHead head;
  std::string error = read_head(connection, input, head);
  if (!error.empty()) return NoAnswer{std::move(error)};
  const auto framing = http::response_framing(head, attempt.method);
  if (!framing) return NoAnswer{"the answer is malformed: " + framing.error().reason};
  ClientAnswer answer;
  answer.status = head.status;
  for (const http::Field& field : head.fields) {
    answer.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  error = read_body(connection, input, *framing, attempt, answer);
  if (!error.empty()) return NoAnswer{std::move(error)};
  return answer;
}

}  // namespace oncekey::client
