#include "verify/transport.h"

#include <chrono>

#include "client/attempt.h"
#include "client/connection.h"

namespace oncekey::verify {
namespace {

constexpr std::size_t answer_size_max = 4 << 20;

const Place& place_of(const Request& request, const Subject& subject) {
  if (request.node == Node::second && subject.second_node) return *subject.second_node;
  if (request.node == Node::effects && subject.effects) return subject.effects->place;
  return subject.place;
}

void append(std::string& text, const std::vector<Header>& fields) {
  for (const Header& field : fields) text += field.name + ": " + field.value + "\r\n";
}

client::SteadyTime in(DurationMs duration) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(duration);
}

}  // namespace

std::string bytes_of(const Request& request, const Subject& subject) {
  std::string text = request.method + " " + request.target +
                     " HTTP/1.1\r\nHost: " + place_of(request, subject).server.authority +
                     "\r\nConnection: close\r\nUser-Agent: " + subject.user_agent +
                     "\r\nAccept: */*\r\n";
  append(text, subject.headers);
  if (request.caller == Caller::tenant) append(text, subject.tenant);
  if (request.caller == Caller::other_tenant) append(text, subject.other_tenant);
  append(text, request.headers);
  for (const std::string& key : request.keys) text += subject.key_header + ": " + key + "\r\n";
  if (!request.body.empty()) text += "Content-Type: " + subject.content_type + "\r\n";
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return text + "\r\n" + request.body;
}

Answer exchange(const Request& request, const Subject& subject) {
  const std::string bytes = bytes_of(request, subject);
  const client::Attempt attempt{place_of(request, subject).server,
                                request.method,
                                bytes,
                                subject.timeout_ms,
                                answer_size_max,
                                subject.tls};
  auto outcome = client::perform(attempt, {});
  Answer answer;
  if (auto* came = std::get_if<ClientAnswer>(&outcome)) {
    answer.status = came->status;
    answer.headers = std::move(came->headers);
    answer.body = std::move(came->body);
  } else if (auto* unsent = std::get_if<client::NothingSent>(&outcome)) {
    answer.error = "nothing was sent: " + unsent->error;
  } else {
    answer.error = std::get<client::NoAnswer>(outcome).error;
  }
  return answer;
}

std::string hang_up(const Request& request, const Subject& subject, Leaving leaving) {
  const http::HttpUrl& server = place_of(request, subject).server;
  const http::ClientTls* tls = server.secure ? subject.tls.get() : nullptr;
  client::Connection connection(in(subject.timeout_ms), {});
  if (!connection.connect(server, tls)) return connection.error();
  std::string bytes = bytes_of(request, subject);
  if (leaving == Leaving::mid_body) bytes.resize(bytes.size() - request.body.size() / 2 - 1);
  if (!connection.send(bytes)) return connection.error();
  if (leaving == Leaving::while_running) {
    connection.set_deadline(in(subject.head_start_ms));
    std::string answer;
    if (connection.receive(answer) || connection.ended()) {
      return "the answer came before the client could leave";
    }
  }
  return "";
}

}  // namespace oncekey::verify
