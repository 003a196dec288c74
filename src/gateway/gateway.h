// The gateway as a handler of requests: which of them are protected, which pass, and the published
// policy. One per loop.
#pragma once

#include "gateway/generation.h"
#include "http/server.h"

namespace oncekey::gateway {

class Gateway final : public http::Handler {
 public:
  // `loop`: its place among the service's loops.
  Gateway(const Generations& generations, std::size_t loop)
      : generations_(generations), loop_(loop) {}

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;
  void handshake_failed(std::string_view peer, std::string_view reason) override;

 private:
  // By the rules now in force; a request asks once, when it begins.
  const Context& context() const { return generations_.current().context(loop_); }

  const Generations& generations_;
  const std::size_t loop_;
};

}  // namespace oncekey::gateway
