// What was found out about a store's server, for people who want to know how safe it is.
#pragma once

#include <string>

namespace oncekey::store {

struct Fact {
  enum class Grade { good, warning, error };  // error: this store refuses to work so

  Grade grade = Grade::good;
  std::string name;
  std::string value;
  std::string meaning;  // one sentence: what it means for keys and answers
};

}  // namespace oncekey::store
