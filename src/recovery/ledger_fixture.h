// For tests: a provider's ledger over HTTP, in pages of ten.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "http/side_server.h"

namespace oncekey::recovery {

class LedgerFixture final : private http::Handler {
 public:
  struct Item {
    std::string id;
    std::string key;
    std::string amount;
    std::string status;
    TimestampMs at = 0;
  };

  std::string url() const { return "http://" + server_.address(); }
  void add(Item item) { items_.push_back(std::move(item)); }  // before the first request
  void fail_after_pages(int pages) { pages_left_ = pages; }

 private:
  static constexpr std::size_t page_size = 10;

  http::Task<void> handle(http::Exchange& exchange) override {
    const std::string target(exchange.head().target);
    const std::size_t from = std::stoul(target.substr(target.find("after=") + 6));
    http::ResponseStart start;
    start.status = pages_left_-- > 0 ? 200 : 503;
    const std::string body = page(from);
    co_await exchange.respond(start, body);
  }
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal&) override {
    http::ResponseStart start;
    start.status = 400;
    co_await exchange.respond(start, "");
  }

  std::string page(std::size_t from) const {
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.key("data");
    json.begin_array();
    const std::size_t end = std::min(items_.size(), from + page_size);
    for (std::size_t i = from; i < end; ++i) {
      json.begin_object();
      json.member("object", "charge");
      json.member("id", items_[i].id);
      json.member("idempotency_key", items_[i].key);
      json.key("amount");
      json.raw(items_[i].amount);
      json.member("status", items_[i].status);
      json.member("created", format_rfc3339(items_[i].at));
      json.end_object();
    }
    json.raw(R"({"object":"refund","id":"re_1","amount":-100,"status":"succeeded"})");
    json.end_array();
    if (end < items_.size()) json.member("next", end);
    json.end_object();
    return body;
  }

  std::vector<Item> items_;
  std::atomic<int> pages_left_{1'000'000};
  http::Loop loop_;
  http::SideServer server_{loop_, *this, "ledger", "127.0.0.1:0"};
};

}  // namespace oncekey::recovery
