#include "verify/practice_shop.h"

#include <sys/socket.h>

#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr Milliseconds forever{3'600'000};
// A client that leaves at once is gone when the work ends; long where a flaw depends on it.
constexpr Milliseconds usual_work{15};
constexpr Milliseconds work_for_leavers{150};

std::string text_of(const Reply& reply, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " Practice\r\n";
  for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
  text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n";
  return with_body ? text + reply.body : text;
}

std::string word(const std::string& line, std::size_t which) {
  const std::size_t first = line.find(' ');
  if (which == 0) return line.substr(0, first);
  return line.substr(first + 1, line.rfind(' ') - first - 1);
}

bool peer_closed(int descriptor) {
  char byte = 0;
  const ssize_t count = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

PracticeShop::PracticeShop(Flaw flaw, Milliseconds retention)
    : flaw_(flaw),
      memories_{{flaw, retention}, {flaw, retention}},
      listeners_{listen_loopback(ports_[0]), listen_loopback(ports_[1])} {
  for (std::size_t node : {0, 1})
    acceptors_[node] = std::thread([this, node] { accept_all(node); });
}

PracticeShop::~PracticeShop() {
  for (Socket& listener : listeners_) ::shutdown(listener.descriptor(), SHUT_RDWR);
  for (std::thread& acceptor : acceptors_) acceptor.join();
  {
    std::lock_guard lock(mutex_);
    for (int descriptor : open_) ::shutdown(descriptor, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

std::string PracticeShop::url_of(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

std::size_t PracticeShop::orders() const {
  std::lock_guard lock(mutex_);
  return orders_.size();
}

void PracticeShop::accept_all(std::size_t node) {
  while (true) {
    Socket socket(::accept4(listeners_[node].descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    std::lock_guard lock(mutex_);
    open_.insert(socket.descriptor());
    threads_.emplace_back([this, node, connection = std::move(socket)]() mutable {
      serve(connection, node);
      std::lock_guard closing(mutex_);
      open_.erase(connection.descriptor());
      connection.close();
    });
  }
}

void PracticeShop::serve(Socket& socket, std::size_t node) {
  std::string unread;
  while (true) {
    MessageReader reader(MessageReader::Kind::request);
    bool complete = true;
    while (unread.erase(0, reader.feed(unread)), !reader.done()) {
      if (reader.broken()) return;
      if (socket.receive(unread, deadline_in(forever)) == Socket::Received::data) continue;
      if (!reader.head_done() || flaw_ != Flaw::executes_half_a_body) return;
      complete = false;
      break;
    }
    const HttpMessage request = reader.take();
    ++requests_;
    const Reply reply = reply_to(request, socket, node);
    const bool with_body = !request.start_line.starts_with("HEAD ");
    if (!complete || !socket.send(text_of(reply, with_body))) return;
    if (request.has_token("Connection", "close")) return;
  }
}

Reply PracticeShop::list() const {
  std::lock_guard lock(mutex_);
  std::string body = "{\"orders\":[";
  for (const std::string& id : orders_) {
    body += (body.back() == '[' ? "\"" : ",\"") + id + "\"";
  }
  return {200, {{"Content-Type", "application/json"}}, body + "]}"};
}

Reply PracticeShop::order(const HttpMessage& request) {
  const std::string slow = request.header("X-Shop-Slow");
  const bool leaving_matters = flaw_ == Flaw::forgets_when_client_left;
  const Milliseconds usual = leaving_matters ? work_for_leavers : usual_work;
  let_time_pass(slow.empty() ? usual : Milliseconds(std::stoi(slow)));
  if (const std::string fail = request.header("X-Shop-Fail"); !fail.empty()) {
    return {std::stoi(fail), {{"Content-Type", "application/json"}}, "{\"error\":\"closed\"}"};
  }
  std::lock_guard lock(mutex_);
  const std::string id = "ord_" + std::to_string(orders_.size() + 1);
  orders_.push_back(id);
  return {201,
          {{"Content-Type", "application/json"},
           {"Location", "/orders/" + id},
           {"ETag", "\"" + id + "\""}},
          "{\"id\":\"" + id + "\",\"order\":" + request.body + "}"};
}

Reply PracticeShop::reply_to(const HttpMessage& request, Socket& socket, std::size_t node) {
  const std::string method = word(request.start_line, 0);
  const std::string target = word(request.start_line, 1);
  if (target == "/.well-known/idempotency") {
    const std::string policy = flaw_ == Flaw::policy_is_no_json ? "soon" : "{\"routes\":[]}";
    return {200, {{"Content-Type", "application/json"}}, policy};
  }
  const bool reads = method == "GET" || method == "HEAD" || method == "OPTIONS";
  const bool needs_key = (reads && flaw_ == Flaw::get_needs_a_key && target != "/count") ||
                         (method == "DELETE" && flaw_ == Flaw::delete_needs_a_key);
  if (needs_key && !request.find("Idempotency-Key")) {
    return problem(400, "the Idempotency-Key is missing");
  }
  if (reads) return list();
  if (method != "POST" && method != "PATCH") return problem(405, "not here");
  Call call{method, target, request.header("X-Tenant"), {}, request.body, {}};
  for (const Header& field : request.headers) {
    if (same_name(field.name, "Idempotency-Key")) call.keys.push_back(field.value);
  }
  const int descriptor = socket.descriptor();
  call.client_gone = [descriptor] { return peer_closed(descriptor); };
  KeyMemory& memory = memories_[flaw_ == Flaw::remembers_per_node ? node : 0];
  return memory.answer(call, [&] { return order(request); });
}

}  // namespace oncekey::test
