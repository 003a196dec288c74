#include "cli/demo_client.h"

#include <simdjson.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "http/address.h"
#include "http/body_decoder.h"
#include "http/head.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t curl_columns = 88;
constexpr timeval patience{.tv_sec = 60, .tv_usec = 0};

class Connection {
 public:
  explicit Connection(const std::string& address) {
    auto resolved = http::resolve(address);
    if (!resolved) return;
    const http::SocketAddress& to = resolved->front();
    fd_ = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(fd_, to.get(), to.size) == 0;
  }
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool send(std::string_view bytes) {
    while (connected_ && !bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return connected_;
  }

  // Everything until the peer closes; "" means that this went well.
  std::string receive_all(std::string& into) {
    char piece[4096];
    for (;;) {
      const ssize_t got = ::recv(fd_, piece, sizeof piece, 0);
      if (got == 0) return "";
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::strerror(errno);
      into.append(piece, static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

std::string bytes_of(const DemoRequest& request) {
  std::string bytes = request.method + " " + request.target + " HTTP/1.1\r\n";
  bytes += "Host: " + request.address + "\r\nAccept: application/json\r\nConnection: close\r\n";
  for (const auto& [name, value] : request.headers) bytes += name + ": " + value + "\r\n";
  if (request.method != "GET") {
    bytes +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) +
        "\r\n";
  }
  return bytes + "\r\n" + request.body;
}

DemoAnswer failed(std::string reason) {
  DemoAnswer answer;
  answer.failure = std::move(reason);
  return answer;
}

// The body out of its framing; false when it is cut or malformed.
bool decode_body(const http::Framing& framing, std::string_view input, std::string& body) {
  http::BodyDecoder decoder(framing);
  while (!decoder.done()) {
    const http::BodyDecoder::Step step = decoder.step(input);
    input.remove_prefix(step.consumed);
    body.append(step.data);
    if (step.status == http::BodyDecoder::Status::bad) return false;
    if (step.status == http::BodyDecoder::Status::need_more) return decoder.ends_at_close();
  }
  return true;
}

DemoAnswer parse_answer(std::string_view text, std::string_view method) {
  http::HeadScanner scanner;
  const http::HeadLimits limits;
  if (scanner.scan(text, limits.bytes) != http::HeadScanner::Found::complete) {
    return failed("the answer has no complete head");
  }
  http::ResponseHead head;
  const std::size_t begin = scanner.head_begin();
  if (auto refusal = head.parse(text.substr(begin, scanner.head_end() - begin), limits)) {
    return failed(refusal->reason);
  }
  const auto framing = http::response_framing(head, method);
  DemoAnswer answer;
  answer.status_line = head.text.substr(0, head.text.find("\r\n"));
  for (const http::Field& field : head.fields) answer.headers.emplace_back(field.name, field.value);
  if (!framing || !decode_body(*framing, text.substr(scanner.head_end()), answer.body)) {
    return failed("the answer's body is not complete");
  }
  answer.status = head.status;
  return answer;
}

}  // namespace

std::vector<std::string> DemoRequest::curl() const {
  const bool plain = target.find_first_of("?&") == std::string::npos;
  const std::string url = "http://" + address + target;
  std::vector<std::string> parts = {plain ? url : "'" + url + "'"};
  for (const auto& [name, value] : headers) parts.push_back("-H '" + name + ": " + value + "'");
  if (method != "GET") parts.push_back("--json '" + body + "'");

  std::vector<std::string> lines = {method == "GET" ? "curl" : "curl -i"};
  for (const std::string& part : parts) {
    if (lines.back().size() + part.size() > curl_columns) {
      lines.back() += " \\";
      lines.push_back("   ");
    }
    lines.back() += " " + part;
  }
  return lines;
}

std::string DemoAnswer::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (http::equals_ignoring_case(each, name)) return value;
  }
  return "";
}

std::string DemoAnswer::member(std::string_view pointer) const {
  simdjson::dom::parser parser;
  simdjson::dom::element found;
  if (parser.parse(body).at_pointer(pointer).get(found) != simdjson::SUCCESS) return "";
  std::string_view text;
  if (found.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(found);
}

DemoAnswer send_request(const DemoRequest& request) {
  Connection connection(request.address);
  if (!connection.send(bytes_of(request))) return failed("no connection to " + request.address);
  std::string text;
  const std::string failure = connection.receive_all(text);
  if (!failure.empty()) return failed(failure);
  return parse_answer(text, request.method);
}

}  // namespace oncekey::cli
