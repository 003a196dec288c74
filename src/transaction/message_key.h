// Keys for messages that were given none.
#pragma once

#include <string>

namespace oncekey::transaction {

// A random UUID (version 4).
std::string make_message_key();

}  // namespace oncekey::transaction
