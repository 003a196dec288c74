// What this service does, in phases that survive a crash anywhere.
//
//   payment:  intent ──► charge ──► 201, or 402 when it was declined
//   refund:   intent ──► refund ──► 201
//
// Asynchronously each is its first phase alone: key, row and a message for the provider are one
// commit, the answer is 202, and `oncekey worker` makes the call under the same key.
#pragma once

#include <oncekey/workflow.h>

#include "connection.h"
#include "provider.h"

namespace payments {

// What a payment and a refund have in common on their way to the provider.
struct Order {
  const char* table;  // of ours; also the path of its resources
  const char* sink;   // the outbox's destination, and the provider's path: "/" + sink
  const char* phase;  // the one with the call; the provider's key is derived for it
};
inline constexpr Order charge_order{"payments", "charges", "charge"};
inline constexpr Order refund_order{"refunds", "refunds", "refund"};

// Their input is the request's body with "async", true or false; the refund's with "payment", too.
oncekey::Workflow payment_workflow(Connection& connection, const Provider& provider);
oncekey::Workflow refund_workflow(Connection& connection, const Provider& provider);

}  // namespace payments
