// An open file or socket that is closed with its owner; -1 is none.
#pragma once

#include <unistd.h>

namespace oncekey::http {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  const int number_;
};

}  // namespace oncekey::http
