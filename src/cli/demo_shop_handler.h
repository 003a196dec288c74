// What the demo's sample upstream does with each request.
#pragma once

#include "cli/demo_shop.h"
#include "cli/demo_wish.h"
#include "http/server.h"

namespace oncekey::cli {

class DemoShopHandler final : public http::Handler {
 public:
  explicit DemoShopHandler(DemoShop& shop) : shop_(shop) {}

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

 private:
  http::Task<void> get(http::Exchange& exchange, const QueryParameters& parameters);
  http::Task<void> post(http::Exchange& exchange, Trade trade, DemoWish wish);
  http::Task<void> answer(http::Exchange& exchange, const DemoWish& wish, const Sale& sale);
  http::Task<void> answer_half(http::Exchange& exchange, const Sale& sale);

  DemoShop& shop_;
};

}  // namespace oncekey::cli
