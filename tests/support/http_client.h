// A raw HTTP client: tests say exactly which bytes go out and see exactly what came back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_message.h"
#include "support/socket.h"

namespace oncekey::test {

struct HttpRequest {
  std::string method = "POST";
  std::string target = "/orders";
  std::vector<Header> headers;
  std::string body;
  bool chunked = false;

  HttpRequest& with(std::string name, std::string value);
  // Host and the body's framing are added unless `headers` already has them.
  std::string bytes() const;
};

struct HttpResponse : HttpMessage {
  int status = 0;  // 0: no complete answer came
  std::vector<HttpMessage> interim;
  std::string failure;  // why there is no complete answer
};

class HttpConnection {
 public:
  explicit HttpConnection(std::uint16_t port) : socket_(connect_loopback(port)) {}
  explicit HttpConnection(Socket socket) : socket_(std::move(socket)) {}

  bool send(std::string_view bytes) { return socket_ && socket_.send(bytes); }
  HttpResponse receive(bool to_head = false, Milliseconds timeout = patience,
                       std::size_t body_kept_max = MessageReader::keep_all);
  // One interim answer such as 100 Continue, as its status; 0 when none came.
  int receive_interim(Milliseconds timeout = patience);
  HttpResponse exchange(const HttpRequest& request, Milliseconds timeout = patience);
  std::string receive_raw(std::size_t size, Milliseconds timeout = patience);

  // True when the peer ends the connection, and nothing more came before that.
  bool ends(Milliseconds timeout = patience);

  Socket& socket() { return socket_; }

 private:
  bool read_message(MessageReader& reader, Deadline deadline, std::string& failure);

  Socket socket_;
  std::string unread_;
};

// One request on a connection of its own.
HttpResponse exchange(std::uint16_t port, const HttpRequest& request,
                      Milliseconds timeout = patience);

// Opens `count` connections, then sends the same bytes on all of them at once and gathers every
// answer. One thread, so that the storm and not the client is what the gateway has to handle.
std::vector<HttpResponse> storm(std::uint16_t port, std::string_view bytes, std::size_t count,
                                Milliseconds timeout = Milliseconds(60'000));

}  // namespace oncekey::test
