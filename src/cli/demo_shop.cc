#include "cli/demo_shop.h"

#include "boundary/json_writer.h"

namespace oncekey::cli {

Sale DemoShop::make(const SaleRequest& request) {
  std::lock_guard lock(mutex_);
  const bool is_order = request.trade == Trade::order;
  std::vector<Sale>& sales = is_order ? orders_ : payments_;
  Sale sale;
  sale.id = (is_order ? "ord_" : "pay_") + run_ + "_" + std::to_string(sales.size() + 1);
  sale.path = (is_order ? "/orders/" : "/payments/") + sale.id;
  sale.key = request.key;
  JsonWriter json(sale.json);
  json.begin_object();
  json.member("id", sale.id);
  json.member("status", request.status);
  if (request.attempt > 0) json.member("attempt", request.attempt);
  json.key(is_order ? "order" : "payment");
  json.raw(request.body);
  json.end_object();
  sales.push_back(sale);
  ++executions_[request.key];
  executed_.notify_all();
  return sale;
}

std::optional<Sale> DemoShop::find(Trade trade, std::string_view id) const {
  std::lock_guard lock(mutex_);
  for (const Sale& sale : sales(trade)) {
    if (sale.id == id) return sale;
  }
  return std::nullopt;
}

std::string DemoShop::list_json(Trade trade, const std::optional<std::string>& key) const {
  std::lock_guard lock(mutex_);
  int count = 0;
  std::string list;
  JsonWriter items(list);
  items.begin_array();
  for (const Sale& sale : sales(trade)) {
    if (key && sale.key != *key) continue;
    items.raw(sale.json);
    ++count;
  }
  items.end_array();
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("count", count);
  json.key(trade == Trade::order ? "orders" : "payments");
  json.raw(list);
  json.end_object();
  return text;
}

std::string DemoShop::executions_json() const {
  std::lock_guard lock(mutex_);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  for (const auto& [key, count] : executions_) json.member(key, count);
  json.end_object();
  return text;
}

bool DemoShop::wait_for_execution(const std::string& key, std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return executed_.wait_for(lock, limit, [&] { return executions_.contains(key); });
}

}  // namespace oncekey::cli
