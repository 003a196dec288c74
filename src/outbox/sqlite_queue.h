// The outbox of an SQLite database: oncekey_outbox, as Transaction::enqueue() writes it.
//
// SQLite has one writer at a time, so claims need no locks: a claim is a number and the time at
// which it runs out. Of an aggregate only its first undelivered message is ready; recording that it
// was delivered, or discarding it, makes the next one ready.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncekey/result.h"
#include "outbox/queue.h"

namespace oncekey::outbox {

// `path` is that of the service's own database, also with ?shared=1 as in a store's URL, which must
// be there and have been migrated. The error is a sentence for operators.
Result<std::unique_ptr<Queue>, std::string> open_sqlite_queue(std::string_view path);

}  // namespace oncekey::outbox
