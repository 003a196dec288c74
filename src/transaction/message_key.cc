#include "transaction/message_key.h"

#include <sys/random.h>

#include "oncekey/assert.h"

namespace oncekey::transaction {

std::string make_message_key() {
  unsigned char bytes[16];
  ONCEKEY_ASSERT(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string key;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) key += '-';
    key += "0123456789abcdef"[bytes[i] >> 4];
    key += "0123456789abcdef"[bytes[i] & 0x0f];
  }
  return key;
}

}  // namespace oncekey::transaction
