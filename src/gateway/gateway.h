// The gateway as a handler of requests: which of them are protected, which pass, and the published
// policy. One per loop.
#pragma once

#include "gateway/context.h"
#include "http/server.h"

namespace oncekey::gateway {

class Gateway final : public http::Handler {
 public:
  explicit Gateway(const Context& context) : context_(context) {}

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

 private:
  http::Task<void> answer_policy(http::Exchange& exchange);

  const Context& context_;
};

}  // namespace oncekey::gateway
