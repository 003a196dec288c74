#include "support/listed_answers.h"

#include <sys/socket.h>

#include <algorithm>

namespace oncekey::test {
namespace {

constexpr Milliseconds forever{3'600'000};  // the server's end is the end of its waits

}  // namespace

ListedAnswers::ListedAnswers(std::vector<ListedAnswer> answers)
    : listener_(listen_loopback(port_)),
      answers_(std::move(answers)),
      thread_([this] { serve_all(); }) {}

ListedAnswers::~ListedAnswers() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (serving_ >= 0) ::shutdown(serving_, SHUT_RDWR);
  }
  ::shutdown(listener_.descriptor(), SHUT_RDWR);
  thread_.join();
}

std::vector<HttpMessage> ListedAnswers::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

bool ListedAnswers::wait_for_requests(std::size_t count, Milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return came_.wait_for(lock, timeout, [&] { return requests_.size() >= count; });
}

void ListedAnswers::serve_all() {
  while (true) {
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      serving_ = socket.descriptor();
    }
    serve(std::move(socket));
  }
}

void ListedAnswers::serve(Socket socket) {
  MessageReader reader(MessageReader::Kind::request);
  std::string unread;
  while (!reader.done() && !reader.broken() &&
         socket.receive(unread, deadline_in(forever)) == Socket::Received::data) {
    unread.erase(0, reader.feed(unread));
  }
  std::size_t number = 0;
  if (reader.done()) {
    std::lock_guard lock(mutex_);
    number = requests_.size();
    requests_.push_back(reader.take());
    came_.notify_all();
  }
  if (reader.done()) answer(socket, answers_[std::min(number, answers_.size() - 1)]);
  std::lock_guard lock(mutex_);
  serving_ = -1;
  socket.close();
}

void ListedAnswers::answer(Socket& socket, const ListedAnswer& answer) {
  if (answer.way == ListedAnswer::Way::silence) {
    std::string unread;
    while (socket.receive(unread, deadline_in(forever)) == Socket::Received::data) {
    }
    return;
  }
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " Listed\r\nConnection: close\r\n";
  for (const Header& field : answer.headers) head += field.name + ": " + field.value + "\r\n";
  if (answer.status != 204)
    head += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  switch (answer.way) {
    case ListedAnswer::Way::reset:
      return socket.reset();
    case ListedAnswer::Way::cut:
      socket.send(head + "\r\n" + answer.body.substr(0, answer.body.size() / 2));
      return;
    case ListedAnswer::Way::answered:
    case ListedAnswer::Way::silence:
      socket.send(head + "\r\n" + answer.body);
      return;
  }
}

}  // namespace oncekey::test
