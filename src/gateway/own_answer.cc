#include "gateway/own_answer.h"

#include <ctime>

#include "gateway/trace.h"
#include "gateway/unprotected.h"

namespace oncekey::gateway {

void add_date(http::ResponseStart& start) {
  thread_local std::time_t text_second = -1;
  thread_local char text[40];
  thread_local std::size_t text_size = 0;
  std::time_t now = std::time(nullptr);
  if (now != text_second) {
    std::tm parts;
    ::gmtime_r(&now, &parts);
    text_size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    text_second = now;
  }
  start.add("Date", std::string_view(text, text_size));
}

http::Task<std::string> send_own_answer(const Context& context, http::Exchange& exchange,
                                        const OwnAnswer& own) {
  static const RouteConfig defaults;
  const RouteConfig& route = own.route ? *own.route : defaults;
  std::string instance = random_uuid();
  AnswerContext answer_context;
  answer_context.profile = route.profile;
  answer_context.statuses = route.statuses;
  answer_context.status = own.status;
  answer_context.policy_url = context.config.policy_url;
  answer_context.instance_id = instance;
  answer_context.key_header = route.key_header;
  answer_context.detail = own.detail;
  answer_context.retry_after_ms = own.retry_after_ms;
  Answer answer = make_answer(own.answer_case, answer_context);
  http::ResponseStart start;
  start.status = answer.status;
  for (const Header& header : answer.headers) start.add(header.name, header.value);
  if (!own.key.empty()) start.add(route.key_header, own.key);
  if (own.unprotected) start.add(unprotected_field, "false");
  if (own.no_store) start.add("Cache-Control", "no-store");
  add_date(start);
  co_await exchange.respond(start, answer.body);
  co_return instance;
}

}  // namespace oncekey::gateway
