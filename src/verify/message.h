// What is sent and what comes back, as a check and its report see it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/client.h"

namespace oncekey::verify {

enum class Caller { tenant, other_tenant, nobody };
enum class Node { first, second, effects };

struct Request {
  std::string what;  // "the first request": its part in the check
  std::string method;
  std::string target;
  std::string body;
  std::vector<std::string> keys;  // one header line each, as it stands on the wire
  std::vector<Header> headers;    // besides those of every request and of the caller
  Caller caller = Caller::tenant;
  Node node = Node::first;
};

struct Answer {
  int status = 0;     // 0: there was none
  std::string error;  // why not
  std::vector<Header> headers;
  std::string body;

  std::string header(std::string_view name) const;  // the first of that name; "": none
  bool success() const { return status >= 200 && status < 300; }
  bool replayed() const;  // says that it is the answer of an earlier request
};

bool same_answer(const Answer& a, const Answer& b);  // status and body
std::string in_short(const Answer& answer);          // "201 Created", "no answer: …"

struct Exchange {
  Request request;
  Answer answer;
  std::string note;  // what was made of the answer, shown instead of its body; "": nothing
};

}  // namespace oncekey::verify
