#include "verify/message.h"

#include "http/field.h"

namespace oncekey::verify {

std::string Answer::header(std::string_view name) const {
  for (const Header& field : headers) {
    if (http::equals_ignoring_case(field.name, name)) return field.value;
  }
  return "";
}

bool Answer::replayed() const {
  return header("Idempotency-Replayed") == "true" || header("Idempotent-Replayed") == "true";
}

bool same_answer(const Answer& a, const Answer& b) {
  return a.status == b.status && a.body == b.body;
}

std::string in_short(const Answer& answer) {
  if (answer.status == 0) return "no answer (" + answer.error + ")";
  std::string text = std::to_string(answer.status);
  if (answer.replayed()) text += ", marked as a replay";
  return text;
}

}  // namespace oncekey::verify
