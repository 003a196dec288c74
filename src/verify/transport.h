// Requests on connections of their own, blocking.
#pragma once

#include <string>

#include "verify/message.h"
#include "verify/subject.h"

namespace oncekey::verify {

std::string bytes_of(const Request& request, const Subject& subject);

Answer exchange(const Request& request, const Subject& subject);

// How a client leaves before it has its answer.
enum class Leaving {
  after_request,  // all sent, and gone at once
  mid_body,       // half of the body sent
  while_running,  // all sent, and gone after the head start
};
// "" when it left as asked; otherwise why not.
std::string hang_up(const Request& request, const Subject& subject, Leaving leaving);

}  // namespace oncekey::verify
