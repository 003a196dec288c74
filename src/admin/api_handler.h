// Routes requests of an admin port by its table of endpoints: who may, with what arguments, and on
// which thread. All of /openapi.json goes through here.
#pragma once

#include <string>
#include <vector>

#include "admin/desk.h"
#include "admin/endpoint.h"
#include "admin/token_guard.h"
#include "http/server.h"

namespace oncekey::admin {

http::Task<void> send(http::Exchange& exchange, const Reply& reply);

class ApiHandler final : public http::Handler {
 public:
  // An answer that an operator gives may be as large as those that upstreams give.
  static constexpr std::size_t request_body_max = 4 << 20;

  ApiHandler(http::Loop& loop, TokenGuard guard, std::vector<Endpoint> endpoints);

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // Any thread: takes no more work for the desks, and says how much they still have.
  void close();
  std::size_t under_way() const { return reads_.under_way() + changes_.under_way(); }

 private:
  // Null: `refusal` says why.
  const Endpoint* find(const http::RequestHead& head, Reply& refusal) const;

  TokenGuard guard_;
  const std::vector<Endpoint> endpoints_;
  Desk reads_;
  Desk changes_;
};

}  // namespace oncekey::admin
