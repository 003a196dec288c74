// One request and its answer on a client's connection, as a handler sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_source.h"
#include "http/head.h"
#include "http/peer_certificate.h"

namespace oncekey::http {

// An answer's head as a handler composes it; framing and Connection are added when it is sent.
struct ResponseStart {
  int status = 200;
  std::string_view reason;  // "": the usual one
  std::string fields;       // lines, each ended by CRLF

  void add(std::string_view name, std::string_view value) {
    fields.append(name).append(": ").append(value).append("\r\n");
  }
};

struct ExchangeTimeouts {
  SteadyMs header_ms = 10'000;
  SteadyMs body_ms = 30'000;
  SteadyMs idle_ms = 60'000;
  SteadyMs write_ms = 30'000;
};

class Exchange {
 public:
  Exchange(Stream& stream, ByteBuffer& input, const ExchangeTimeouts& timeouts,
           std::string_view peer);

  const RequestHead& head() const { return head_; }
  std::string_view peer() const { return peer_; }  // address without port
  bool secure() const { return stream_.tls() != nullptr; }
  // Verified; null without TLS or without a client certificate.
  const PeerCertificate* peer_certificate() const { return peer_certificate_; }
  Loop& loop() { return stream_.loop(); }
  Stream& stream() { return stream_; }
  ByteBuffer& input() { return input_; }  // for a tunnel after an upgrade

  // The request's body. Both answer `Expect: 100-continue` first.
  Task<BodyRead> read_body(std::size_t limit, std::string& body);
  // The same when all of it has arrived already; empty, and nothing read, when it has not.
  std::optional<BodyRead> try_read_body(std::size_t limit, std::string& body);
  Task<BodyPiece> next_piece();
  const Framing& framing() const { return framing_; }
  const std::string& body_error() const { return body_.error(); }

  // A whole answer. Returns false when the client could not be reached; that changes nothing else.
  Task<bool> respond(const ResponseStart& start, std::string_view body);

  // An answer in pieces. With a known length all of it must follow.
  Task<bool> begin(const ResponseStart& start, Framing framing);
  Task<bool> send_piece(std::string_view data);
  Task<bool> finish();

  Task<bool> send_interim(int status, std::string_view fields);
  Task<bool> send_raw(std::string_view bytes);  // after it, the connection is no longer HTTP

  void close_after() { keep_alive_ = false; }
  bool keep_alive() const { return keep_alive_; }
  bool answered() const { return answered_; }
  bool answer_complete() const { return complete_; }
  bool client_reachable() const { return reachable_; }
  int status() const { return status_; }

 private:
  friend class ServerConnection;

  void restart();  // for the connection's next request; keeps its memory
  Task<bool> send(std::string_view first, std::string_view second);
  Task<void> continue_if_expected();
  void write_head(const ResponseStart& start, const Framing& framing);
  bool may_have_body() const;

  Stream& stream_;
  ByteBuffer& input_;
  const ExchangeTimeouts* timeouts_;
  std::string_view peer_;
  const PeerCertificate* peer_certificate_ = nullptr;
  RequestHead head_;
  Framing framing_;
  BodySource body_;
  std::string out_;
  Framing::Kind out_framing_ = Framing::Kind::none;
  int status_ = 0;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
  bool answered_ = false;  // a final answer has begun
  bool complete_ = false;  // and all of it was handed to the kernel
  bool reachable_ = true;
};

std::string_view reason_phrase(int status);

}  // namespace oncekey::http
