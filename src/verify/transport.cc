#include "verify/transport.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/attempt.h"
#include "http/descriptor.h"

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

using http::Descriptor;

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return false;
  }
  return true;
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
  const client::Attempt attempt{place_of(request, subject).server, request.method, bytes,
                                subject.timeout_ms, answer_size_max};
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
  const auto addresses = http::resolve(place_of(request, subject).server.host_port);
  if (!addresses) return addresses.error();
  if (addresses->empty()) return "the name has no address";
  const http::SocketAddress& to = addresses->front();
  const Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::connect(socket.get(), to.get(), to.size) != 0) {
    return to.to_string() + ": " + std::strerror(errno);
  }
  std::string bytes = bytes_of(request, subject);
  if (leaving == Leaving::mid_body) bytes.resize(bytes.size() - request.body.size() / 2 - 1);
  if (!send_all(socket.get(), bytes)) return std::strerror(errno);
  if (leaving == Leaving::while_running) {
    pollfd answered{socket.get(), POLLIN, 0};
    const int count = ::poll(&answered, 1, static_cast<int>(subject.head_start_ms));
    if (count > 0) return "the answer came before the client could leave";
  }
  return "";
}

}  // namespace oncekey::verify
