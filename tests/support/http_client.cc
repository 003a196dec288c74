#include "support/http_client.h"

#include <array>
#include <cstdio>

namespace oncekey::test {
namespace {

std::string chunks(std::string_view body) {
  constexpr std::size_t piece = 1000;  // several chunks for anything but the smallest body
  std::string out;
  for (std::size_t at = 0; at < body.size(); at += piece) {
    std::string_view part = body.substr(at, piece);
    std::array<char, 20> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", part.size());
    out.append(size.data()).append(part).append("\r\n");
  }
  return out + "0\r\n\r\n";
}

}  // namespace

HttpRequest& HttpRequest::with(std::string name, std::string value) {
  headers.push_back({std::move(name), std::move(value)});
  return *this;
}

std::string HttpRequest::bytes() const {
  std::string out = method + " " + target + " HTTP/1.1\r\n";
  bool host = false;
  bool framed = false;
  for (const Header& field : headers) {
    host = host || same_name(field.name, "Host");
    framed = framed || same_name(field.name, "Content-Length");
    out += field.name + ": " + field.value + "\r\n";
  }
  if (!host) out += "Host: shop.example\r\n";
  if (chunked) return out + "Transfer-Encoding: chunked\r\n\r\n" + chunks(body);
  bool sized = !body.empty() || method == "POST" || method == "PATCH" || method == "PUT";
  if (!framed && sized) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return out + "\r\n" + body;
}

bool HttpConnection::read_message(MessageReader& reader, Deadline deadline, std::string& failure) {
  if (!socket_) {
    failure = "not connected";
    return false;
  }
  while (true) {
    unread_.erase(0, reader.feed(unread_));
    if (reader.broken()) failure = "malformed answer";
    if (reader.done() || reader.broken()) return reader.done();
    switch (socket_.receive(unread_, deadline)) {
      case Socket::Received::data:
        break;
      case Socket::Received::end:
        reader.end_of_stream();
        if (!reader.done()) failure = "closed before the answer was complete";
        return reader.done();
      case Socket::Received::reset:
        failure = "reset before the answer was complete";
        return false;
      case Socket::Received::timeout:
        failure = "no complete answer in time";
        return false;
    }
  }
}

HttpResponse HttpConnection::receive(bool to_head, Milliseconds timeout,
                                     std::size_t body_kept_max) {
  Deadline deadline = deadline_in(timeout);
  HttpResponse response;
  while (true) {
    MessageReader reader(
        to_head ? MessageReader::Kind::response_to_head : MessageReader::Kind::response,
        body_kept_max);
    bool complete = read_message(reader, deadline, response.failure);
    int status = reader.status();
    if (complete && status / 100 == 1 && status != 101) {
      response.interim.push_back(reader.take());
      continue;
    }
    static_cast<HttpMessage&>(response) = reader.take();
    if (complete) response.status = status;
    return response;
  }
}

int HttpConnection::receive_interim(Milliseconds timeout) {
  MessageReader reader(MessageReader::Kind::response);
  std::string failure;
  bool complete = read_message(reader, deadline_in(timeout), failure);
  return complete && reader.status() / 100 == 1 ? reader.status() : 0;
}

HttpResponse HttpConnection::exchange(const HttpRequest& request, Milliseconds timeout) {
  send(request.bytes());  // a refusal may come before everything was sent: read it in any case
  return receive(request.method == "HEAD", timeout);
}

std::string HttpConnection::receive_raw(std::size_t size, Milliseconds timeout) {
  Deadline deadline = deadline_in(timeout);
  while (unread_.size() < size && socket_.receive(unread_, deadline) == Socket::Received::data) {
  }
  std::string out = unread_.substr(0, size);
  unread_.erase(0, out.size());
  return out;
}

bool HttpConnection::ends(Milliseconds timeout) {
  if (!socket_) return true;
  if (!unread_.empty()) return false;
  Socket::Received received = socket_.receive(unread_, deadline_in(timeout));
  return received == Socket::Received::end || received == Socket::Received::reset;
}

HttpResponse exchange(std::uint16_t port, const HttpRequest& request, Milliseconds timeout) {
  return HttpConnection(port).exchange(request, timeout);
}

}  // namespace oncekey::test
