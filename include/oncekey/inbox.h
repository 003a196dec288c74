// The receiving side of at-least-once: a message that comes twice is handled once.
#pragma once

#include <functional>
#include <string_view>

#include "oncekey/transaction.h"

namespace oncekey {

// Handles a message in one transaction with the mark that it was. True: it was handled now; false:
// it had been before, and nothing was done. Exceptions of `handle` roll back and pass through, and
// the message can come again. A transaction that the database wants again is done again, a bounded
// number of times, so what `handle` does belongs into that transaction and nowhere else.
//
// `consumer` tells apart those who each have to see the message; `message_key` is the sender's:
// the Idempotency-Key header, or webhook-id, of what `oncekey worker` delivers.
//
// DatabaseError of Kind::lost: handle it again on a connection that works; if it was committed
// after all, that returns false.
bool consume_once(Database& database, std::string_view consumer, std::string_view message_key,
                  const std::function<void(Transaction&)>& handle);

}  // namespace oncekey
