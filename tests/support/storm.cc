#include <sys/epoll.h>

#include <array>
#include <stdexcept>

#include "support/http_client.h"

namespace oncekey::test {
namespace {

struct Line {
  Socket socket;
  MessageReader reader{MessageReader::Kind::response};
  bool finished = false;
};

void read_some(Line& line) {
  std::string bytes;
  // Level-triggered: one read per event is enough, and keeps all lines moving.
  Socket::Received received = line.socket.receive(bytes, deadline_in(Milliseconds(0)));
  if (received == Socket::Received::timeout) return;
  line.reader.feed(bytes);
  if (received != Socket::Received::data) line.reader.end_of_stream();
  line.finished = line.reader.done() || line.reader.broken();
}

HttpResponse result(Line& line) {
  HttpResponse response;
  if (line.reader.done()) response.status = line.reader.status();
  if (response.status == 0) response.failure = line.finished ? "cut off" : "no answer in time";
  static_cast<HttpMessage&>(response) = line.reader.take();
  return response;
}

}  // namespace

std::vector<HttpResponse> storm(std::uint16_t port, std::string_view bytes, std::size_t count,
                                Milliseconds timeout) {
  allow_open_files(2 * count + 200);
  Socket events(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Line> lines(count);
  for (std::size_t i = 0; i < count; ++i) {
    lines[i].socket = connect_loopback(port);
    if (!lines[i].socket) throw std::runtime_error("storm: connection refused");
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(events.descriptor(), EPOLL_CTL_ADD, lines[i].socket.descriptor(), &event);
  }
  for (Line& line : lines) line.socket.send(bytes);

  Deadline deadline = deadline_in(timeout);
  std::size_t open = count;
  while (open > 0 && std::chrono::steady_clock::now() < deadline) {
    std::array<epoll_event, 256> ready;
    int got = ::epoll_wait(events.descriptor(), ready.data(), ready.size(), 100);
    for (int i = 0; i < got; ++i) {
      Line& line = lines[ready[static_cast<std::size_t>(i)].data.u64];
      read_some(line);
      if (!line.finished) continue;
      ::epoll_ctl(events.descriptor(), EPOLL_CTL_DEL, line.socket.descriptor(), nullptr);
      --open;
    }
  }
  std::vector<HttpResponse> responses;
  for (Line& line : lines) responses.push_back(result(line));
  return responses;
}

}  // namespace oncekey::test
