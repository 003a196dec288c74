#include "admin/reply.h"

#include "boundary/json_writer.h"

namespace oncekey::admin {

Reply problem(int status, std::string_view code, std::string_view title, std::string_view detail) {
  Reply reply;
  reply.status = status;
  reply.type = "application/problem+json";
  JsonWriter json(reply.body);
  json.begin_object();
  json.member("type", "about:blank");
  json.member("title", title);
  json.member("status", status);
  json.member("detail", detail);
  json.member("code", code);
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

Reply bad_request(std::string_view detail) {
  return problem(400, "bad_request", "The request cannot be understood", detail);
}

Reply not_found(std::string_view detail) {
  return problem(404, "not_found", "There is no such thing", detail);
}

Reply conflict(std::string_view detail) {
  return problem(409, "conflict", "Its state does not allow this", detail);
}

Reply store_unavailable(std::string_view reason) {
  Reply reply = problem(503, "store_unavailable", "The store does not answer",
                        std::string(reason) + ". Try again; /v1/status says how the store is.");
  reply.headers.push_back({"Retry-After", "1"});
  return reply;
}

}  // namespace oncekey::admin
