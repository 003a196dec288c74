#include "http/client.h"

#include <algorithm>

#include "http/decimal.h"
#include "http/tls_context.h"

namespace oncekey::http {

namespace {

// Connections from the pool that turn out dead before a byte left; a fresh one follows.
constexpr int dead_connections_max = 8;

UpstreamOptions pool_options(const ClientOptions& options, const Destination& destination) {
  UpstreamOptions pool;
  pool.connect_ms = std::min(options.connect_ms, options.timeout_ms);
  pool.idle_ms = options.idle_ms;
  pool.idle_max = options.idle_max;
  if (destination.secure) {
    pool.tls = options.tls ? options.tls : system_tls();
    pool.tls_host = host_without_port(destination.host_port);
  }
  return pool;
}

bool has_body(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "DELETE";
}

std::string request_head(const ClientRequest& request, const Destination& destination) {
  std::string head;
  head.reserve(request.fields.size() + 256);
  std::string_view target = request.target.empty() ? destination.target : request.target;
  head.append(request.method).append(" ").append(target).append(" HTTP/1.1\r\nHost: ");
  head.append(destination.authority).append("\r\n").append(request.fields);
  if (!request.body.empty() || has_body(request.method)) {
    head.append("Content-Length: ");
    append_decimal(head, request.body.size());
    head.append("\r\n");
  }
  head.append("\r\n");
  return head;
}

Answered answered(const ResponseHead& head, std::string body) {
  Answered answer;
  answer.status = head.status;
  answer.headers.reserve(head.fields.size());
  for (const Field& field : head.fields) {
    answer.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  answer.body = std::move(body);
  return answer;
}

}  // namespace

Result<Destination, std::string> parse_destination(std::string_view url) {
  const std::string_view scheme = url.substr(0, url.starts_with("https://") ? 8 : 7);
  std::string_view rest = url.substr(scheme.size());
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  auto base = parse_http_url(std::string(scheme) + std::string(rest.substr(0, end)));
  std::string target(rest.substr(end));
  if (rest.empty() || !base || target.find('#') != std::string::npos ||
      std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c >= 0x7f; })) {
    return "\"" + std::string(url) +
           "\" is not http://host[:port][/path][?query], nor that with https://";
  }
  if (!target.starts_with('/')) target.insert(0, "/");
  return Destination{base->secure, base->host_port, base->authority, std::move(target)};
}

const std::string* Answered::header(std::string_view name) const {
  for (const Header& each : headers) {
    if (equals_ignoring_case(each.name, name)) return &each.value;
  }
  return nullptr;
}

Client::Client(Loop& loop, Destination destination, ClientOptions options)
    : loop_(loop),
      destination_(std::move(destination)),
      options_(options),
      address_(destination_.host_port, UpstreamAddress::Unresolved::tried_later),
      pool_(loop, address_, pool_options(options, destination_)) {}

Task<ClientOutcome> Client::send(ClientRequest request) {
  SteadyMs deadline = loop_.now() + options_.timeout_ms;
  std::string head = request_head(request, destination_);
  for (int tries = 0;; ++tries) {
    UpstreamPool::Lease connection = pool_.acquire_idle();
    if (!connection) {
      UpstreamPool::Acquired acquired = co_await pool_.acquire();
      if (!acquired) co_return NothingSent{acquired.error()};
      connection = std::move(*acquired);
    }
    IoResult sent = co_await connection->stream.write(head, request.body, deadline);
    if (sent.ok()) {
      ClientOutcome outcome = co_await receive(std::move(connection), request.method, deadline);
      co_return outcome;
    }
    if (sent.bytes == 0 && connection->reused && tries < dead_connections_max) continue;
    std::string error = "sending: ";
    error += to_string(sent.error);
    if (sent.bytes == 0) co_return NothingSent{std::move(error)};
    co_return NoAnswer{std::move(error), sent.error == IoError::timeout};
  }
}

Task<ClientOutcome> Client::receive(UpstreamPool::Lease connection, std::string_view method,
                                    SteadyMs deadline) {
  do {
    UpstreamConnection::HeadResult head =
        co_await connection->read_head(method, pool_.options().head, deadline);
    if (!head.ok) co_return NoAnswer{std::move(head.error), head.timed_out};
    if (connection->head.status == 101) co_return NoAnswer{"the answer switches protocols unasked"};
  } while (connection->head.status < 200);
  std::string body;
  std::optional<BodyRead> read = try_read_whole(connection->body, options_.response_limit, body);
  if (!read) {
    read = co_await read_whole(connection->body, options_.response_limit, deadline, body);
  }
  switch (*read) {
    case BodyRead::complete:
    case BodyRead::too_large:
      break;
    case BodyRead::timeout:
      co_return NoAnswer{"the answer did not end in time", true};
    case BodyRead::cut:
      co_return NoAnswer{"the answer was cut off"};
    case BodyRead::bad:
      co_return NoAnswer{"the answer is malformed: " + connection->body.error()};
  }
  Answered answer = answered(connection->head, std::move(body));
  if (*read == BodyRead::too_large) {
    answer.body_cut = true;
    answer.body.resize(options_.response_limit);
  } else if (connection->reusable()) {
    pool_.release(std::move(connection));
  }
  co_return ClientOutcome(std::move(answer));
}

}  // namespace oncekey::http
