#include "support/scripted_upstream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>

namespace oncekey::test {
namespace {

constexpr std::size_t body_kept_max = 1 << 20;
constexpr Milliseconds forever{3'600'000};  // the upstream's end is the end of its waits

// The first path segment after the verb and so on are irrelevant to a test; the key is not.
std::string key_of(const HttpMessage& request) {
  for (std::string_view name : {"Idempotency-Key", "X-Idempotency-Key", "PayPal-Request-Id"}) {
    if (auto value = request.find(name)) {
      std::string key(*value);
      if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
        key = key.substr(1, key.size() - 2);
      }
      return key;
    }
  }
  return "";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (unsigned char byte : text) {
    if (byte == '"' || byte == '\\') out += '\\';
    if (byte >= 0x20 && byte < 0x7f) {
      out += static_cast<char>(byte);
    } else {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      out += escape.data();
    }
  }
  return out + "\"";
}

std::string echo_of(const HttpMessage& request) {
  std::string out = "{\"start_line\":" + quoted(request.start_line) + ",\"headers\":[";
  for (const Header& field : request.headers) {
    if (out.back() != '[') out += ",";
    out += "[" + quoted(field.name) + "," + quoted(field.value) + "]";
  }
  return out + "],\"body\":" + quoted(request.body) + "}";
}

std::string chunk(std::string_view data) {
  std::array<char, 24> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  return size.data() + std::string(data) + "\r\n";
}

bool has_no_body(int status) {
  return status == 204 || status == 304;
}

}  // namespace

ScriptedUpstream::ScriptedUpstream(const std::string& audit_path)
    : ScriptedUpstream(audit_path, nullptr) {}

ScriptedUpstream::ScriptedUpstream(TlsSettings tls) : ScriptedUpstream("", std::move(tls)) {}

ScriptedUpstream::ScriptedUpstream(const std::string& audit_path, TlsSettings tls)
    : tls_(std::move(tls)),
      listener_(listen_loopback(port_)),
      audit_(audit_path.empty() ? Audit() : Audit(audit_path)),
      acceptor_([this] { accept_all(); }) {}

ScriptedUpstream::~ScriptedUpstream() {
  ::shutdown(listener_.descriptor(), SHUT_RDWR);
  acceptor_.join();
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (int descriptor : open_descriptors_) ::shutdown(descriptor, SHUT_RDWR);
  changed_.notify_all();
  changed_.wait(lock, [this] { return serving_ == 0; });
}

void ScriptedUpstream::open_gate(const std::string& name) {
  std::lock_guard lock(mutex_);
  open_gates_.insert(name);
  changed_.notify_all();
}

void ScriptedUpstream::wait_at_gate(const std::string& name) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || open_gates_.contains(name); });
}

void ScriptedUpstream::close_connections() {
  std::lock_guard lock(mutex_);
  for (int descriptor : open_descriptors_) ::shutdown(descriptor, SHUT_RDWR);
}

void ScriptedUpstream::accept_all() {
  while (true) {
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    ++accepted_;
    if (connections_to_reset_ > 0) {
      --connections_to_reset_;
      socket.reset();
      continue;
    }
    int on = 1;
    ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      std::lock_guard lock(mutex_);
      open_descriptors_.insert(socket.descriptor());
      ++serving_;
    }
    std::thread([this, connection = std::move(socket)]() mutable {
      serve(std::move(connection));
    }).detach();
  }
}

void ScriptedUpstream::serve(Socket socket) {
  int descriptor = socket.descriptor();
  std::string unread;
  bool usable = !tls_ || accept_tls(socket, tls_);
  if (usable && tls_ && was_resumed(socket)) ++resumed_;
  while (usable && serve_one(socket, unread)) {
  }
  std::lock_guard lock(mutex_);
  // Erased before it is closed, so that a new connection with the same number is not lost; a
  // reset has already closed it, and the number is unregistered by whoever took it over.
  if (socket) {
    open_descriptors_.erase(descriptor);
    if (without_notice_) socket.cut();
    socket.close();
  }
  --serving_;
  changed_.notify_all();
}

bool ScriptedUpstream::read_request(Socket& socket, std::string& unread, MessageReader& reader) {
  bool told_to_continue = false;
  while (true) {
    unread.erase(0, reader.feed(unread));
    if (reader.done()) return true;
    if (reader.broken()) return false;
    if (reader.head_done() && !told_to_continue) {
      told_to_continue = true;
      const HttpMessage& head = reader.message();
      if (head.has_token("Expect", "100-continue")) socket.send("HTTP/1.1 100 Continue\r\n\r\n");
      const std::string behaviour = head.header(behaviour_header);
      for (const char* early : {"reset-at-head", "answer-at-head"}) {
        if (behaviour.find(early) != std::string::npos) return true;
      }
    }
    if (socket.receive(unread, deadline_in(forever)) != Socket::Received::data) {
      if (!reader.message().start_line.empty()) ++incomplete_;
      return false;
    }
  }
}

bool ScriptedUpstream::serve_one(Socket& socket, std::string& unread) {
  MessageReader reader(MessageReader::Kind::request, body_kept_max);
  if (!read_request(socket, unread, reader)) return false;
  Arrival arrival;
  arrival.request = reader.take();
  const std::string& line = arrival.request.start_line;
  arrival.method = line.substr(0, line.find(' '));
  arrival.target =
      line.substr(arrival.method.size() + 1, line.rfind(' ') - arrival.method.size() - 1);
  arrival.key = key_of(arrival.request);
  Behaviour behaviour = parse_behaviour(arrival.request.header(behaviour_header));
  if (behaviour.first > 0 && audit_.of_key(arrival.key).size() >= behaviour.first) behaviour = {};
  arrival.effect = behaviour.has_effect();
  arrival = audit_.enter(std::move(arrival));
  return answer({socket, behaviour, arrival});
}

bool ScriptedUpstream::answer(const Exchange& exchange) {
  const auto& [socket, behaviour, arrival] = exchange;
  if (!behaviour.hold.empty() && !behaviour.at_head) wait_at_gate(behaviour.hold);
  if (behaviour.delay.count() > 0) std::this_thread::sleep_for(behaviour.delay);
  switch (behaviour.ending) {
    case Behaviour::Ending::reset_at_head:
    case Behaviour::Ending::reset_unanswered: {
      std::lock_guard lock(mutex_);
      open_descriptors_.erase(socket.descriptor());
      socket.reset();
      return false;
    }
    case Behaviour::Ending::none:
    case Behaviour::Ending::reset_at_first_byte:
    case Behaviour::Ending::cut_body:
      break;
  }
  if (behaviour.early_hints) {
    socket.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n");
  }
  if (behaviour.upgrade) {
    echo_bytes(socket);
    return false;
  }
  std::string body = behaviour.echo   ? echo_of(arrival.request)
                     : behaviour.size ? made_body(*behaviour.size, behaviour.binary, arrival.number)
                                      : "{\"id\":\"order-" + std::to_string(arrival.number) + "\"}";
  if (has_no_body(behaviour.status)) body.clear();
  audit_.set_answer(arrival.number, body);
  const bool goes_on = send_answer(exchange, body);
  if (behaviour.at_head) wait_at_gate(behaviour.hold);
  return goes_on && !behaviour.at_head;
}

std::string ScriptedUpstream::head_of(const Exchange& exchange, std::size_t body_size) const {
  const auto& [socket, behaviour, arrival] = exchange;
  std::string id = std::to_string(arrival.number);
  std::string head = "HTTP/1.1 " + std::to_string(behaviour.status) + " Scripted\r\n";
  head += "Date: Tue, 02 Jan 2024 03:04:05 GMT\r\nX-Upstream: scripted\r\n";
  head += "Location: /orders/" + id + "\r\nETag: \"v" + id + "\"\r\n";
  head += "Set-Cookie: session=cookie-" + id + "; Path=/\r\n";
  if (!behaviour.outcome.empty()) head += "Idempotency-Outcome: " + behaviour.outcome + "\r\n";
  if (!behaviour.retry_after.empty()) head += "Retry-After: " + behaviour.retry_after + "\r\n";
  if (!has_no_body(behaviour.status)) {
    head += behaviour.size ? "Content-Type: application/octet-stream\r\n"
                           : "Content-Type: application/json\r\n";
    if (behaviour.framing == Behaviour::Framing::chunked) {
      head += "Transfer-Encoding: chunked\r\n";
    } else if (behaviour.framing == Behaviour::Framing::sized) {
      head += "Content-Length: " + std::to_string(body_size) + "\r\n";
    }
  }
  if (behaviour.close) head += "Connection: close\r\n";
  return head + "\r\n";
}

bool ScriptedUpstream::send_answer(const Exchange& exchange, const std::string& body) {
  const auto& [socket, behaviour, arrival] = exchange;
  std::string head = head_of(exchange, body.size());
  if (behaviour.ending == Behaviour::Ending::reset_at_first_byte) {
    socket.send(head.substr(0, 1));
    std::lock_guard lock(mutex_);
    open_descriptors_.erase(socket.descriptor());
    socket.reset();
    return false;
  }
  if (arrival.method == "HEAD" || has_no_body(behaviour.status)) {
    return socket.send(head) && !behaviour.close;
  }
  bool chunked = behaviour.framing == Behaviour::Framing::chunked;
  if (behaviour.ending == Behaviour::Ending::cut_body) {
    std::string half = body.substr(0, body.size() / 2);
    socket.send(head + (chunked ? chunk(half) : half));
    return false;
  }
  if (!chunked) {
    if (!socket.send(body.size() < 65536 ? head + body : head)) return false;
    if (body.size() >= 65536 && !socket.send(body)) return false;
  } else {
    socket.send(head);
    constexpr std::size_t piece = 10'000;
    for (std::size_t at = 0; at < body.size(); at += piece) {
      if (!socket.send(chunk(std::string_view(body).substr(at, piece)))) return false;
    }
    socket.send("0\r\n\r\n");
  }
  return behaviour.framing != Behaviour::Framing::to_end && !behaviour.close &&
         !behaviour.close_silently;
}

void ScriptedUpstream::echo_bytes(Socket& socket) {
  socket.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
  std::string bytes;
  while (socket.receive(bytes, deadline_in(forever)) == Socket::Received::data) {
    if (!socket.send(bytes)) return;
    bytes.clear();
  }
}

}  // namespace oncekey::test
