// Start here. The boundary between a client that retries and work that must run at most once.
//
// Everything Oncekey does, in whatever form it is used, is this sequence:
//
//   1. key.h          parse_key()              the header's lines → a key, or why not
//   2. fingerprint.h  Fingerprinter::compute() the request → a digest that tells two requests apart
//   3. store.h        Reserve                  → Execute: this caller, and no other, does the work
//   now
//                                              → Replay, InFlight, Mismatch, OutcomeUnknown,
//                                              Expired:
//                                                what to answer instead
//                     (only when Execute is durable may anything be sent or done)
//   4. classify.h     classify_answer()        what came back, or did not → completed,
//                     classify_silence()       failed_retryable or unknown
//   5. store.h        Settle                   → durable; only now may the client be answered
//
// The order is the promise: reserve durably, dispatch, settle durably, answer. When the outcome is
// uncertain, settle as unknown: never guess, never run again. record.h is what is remembered.
//
// The functions of steps 1, 2 and 4 are pure and may be called from any thread; an Engine is used
// by one thread at a time. tests/contract/boundary_test.cc walks through the sequence with a real
// engine.
#pragma once

#include "oncekey/classify.h"     // IWYU pragma: export
#include "oncekey/fingerprint.h"  // IWYU pragma: export
#include "oncekey/key.h"          // IWYU pragma: export
#include "oncekey/record.h"       // IWYU pragma: export
#include "oncekey/store.h"        // IWYU pragma: export
