// Requests that this program itself makes: one destination, connections kept open, deadlines, and
// an outcome that says how far the request came. On one loop, as everything in http/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/task.h"
#include "http/upstream.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::http {

// http://host[:port][/path][?query], or https://
struct Destination {
  bool secure = false;    // https
  std::string host_port;  // for resolve()
  std::string authority;  // as written, for Host
  std::string target;     // path and query, at least "/"
};
// The error says what to write instead.
Result<Destination, std::string> parse_destination(std::string_view url);

struct ClientOptions {
  SteadyMs timeout_ms =
      10'000;  // of a whole request, from its first step to the answer's last byte
  SteadyMs connect_ms = 2'000;
  std::size_t response_limit = 64 << 10;  // bytes of a body that are kept
  std::size_t idle_max = 256;
  SteadyMs idle_ms = 4'000;  // less than servers keep a connection
  // For https; null: whoever the system trusts.
  std::shared_ptr<const ClientTls> tls;
};

struct ClientRequest {
  std::string_view method = "GET";
  std::string_view target;  // "": the destination's own
  std::string_view fields;  // lines, each ended by CRLF; Host and Content-Length are added
  std::string_view body;
};

// The whole answer was received; a body past the limit is cut there, and marked.
struct Answered {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  bool body_cut = false;

  const std::string* header(std::string_view name) const;  // the first of that name; null: none
};
struct NothingSent {  // proof that the receiver has done nothing
  std::string error;
};
struct NoAnswer {  // something was sent: it may have been executed
  std::string error;
  bool timed_out = false;
};
using ClientOutcome = std::variant<Answered, NothingSent, NoAnswer>;

class Client {
 public:
  // A name that cannot be looked up yet is tried again in the background, never by a request.
  Client(Loop& loop, Destination destination, ClientOptions options);

  // Never tried again here: whether that is safe only the caller knows. A pooled connection that
  // turns out dead before a byte left is replaced.
  Task<ClientOutcome> send(ClientRequest request);

  const Destination& destination() const { return destination_; }
  // Ends every request under way, as no answer.
  void cancel() { pool_.cancel_active(); }

 private:
  Task<ClientOutcome> receive(UpstreamPool::Lease connection, std::string_view method,
                              SteadyMs deadline);

  Loop& loop_;
  Destination destination_;
  ClientOptions options_;
  UpstreamAddress address_;
  UpstreamPool pool_;
};

}  // namespace oncekey::http
