#include "workflows.h"

#include <oncekey/derived_key.h>
#include <oncekey/natural_key.h>

#include "answers.h"
#include "rows.h"

namespace payments {
namespace {

using nlohmann::json;
using oncekey::Finish;
using oncekey::Next;
using oncekey::PhaseBody;
using oncekey::PhaseCall;
using oncekey::PhaseEnd;

// The same in every attempt, so that a body that runs again makes the same row.
std::string id_of(const PhaseBody& phase, const std::string& prefix) {
  return prefix + "_" + oncekey::derive_key(phase.id, "id").substr(3, 24);
}

// The last thing that an intent does: whoever makes the call, it is made under one key.
PhaseEnd send_order(const PhaseBody& phase, const Order& order, const json& resource,
                    const json& request) {
  if (!json::parse(phase.input).at("async")) {
    return Next{order.phase, json{{"request", request}}.dump()};
  }
  phase.transaction.enqueue({.destination = order.sink,
                             .payload = request.dump(),
                             .message_key = oncekey::derive_key(phase.id, order.phase)});
  return Finish{resource_answer(202, order.table, resource)};
}

oncekey::Phase calling_phase(Connection& connection, const Provider& provider, const Order& order,
                             std::function<json(const PhaseBody&)> describe_now) {
  oncekey::Phase phase;
  phase.name = order.phase;
  phase.call_timeout = provider.timeout() * 3;  // connecting, sending, waiting
  phase.call = [&provider, order](const PhaseCall& call) {
    const json data = json::parse(call.data);
    const std::string path = std::string("/") + order.sink;
    return json(provider.make(path, data.at("request").dump(), call.key)).dump();
  };
  phase.body = [&connection, order, describe_now](const PhaseBody& body) -> PhaseEnd {
    const Verdict verdict = json::parse(body.result).get<Verdict>();
    decide(connection, order.table, body.key, verdict);  // unless the webhook was faster
    const int status = verdict.status == "succeeded"  ? 201
                       : verdict.status == "declined" ? 402
                                                      : 400;
    return Finish{resource_answer(status, order.table, describe_now(body))};
  };
  return phase;
}

PhaseEnd intend_payment(Connection& connection, const PhaseBody& phase) {
  const json input = json::parse(phase.input);
  Payment payment;
  payment.id = id_of(phase, "pay");
  payment.tenant = phase.id.scope;
  payment.idempotency_key = phase.id.key;
  payment.provider_key = oncekey::derive_key(phase.id, charge_order.phase);
  payment.amount = input.at("amount");
  payment.currency = input.at("currency");
  payment.reference = input.value("reference", payment.id);
  if (!insert(connection, payment)) return Finish{key_used_before()};
  return send_order(phase, charge_order, describe(payment),
                    {{"amount", payment.amount},
                     {"currency", payment.currency},
                     {"reference", payment.reference},
                     {"metadata", input.value("metadata", json::object())}});
}

PhaseEnd intend_refund(Connection& connection, const PhaseBody& phase) {
  const json input = json::parse(phase.input);
  const std::string id = input.at("payment");
  // Two refunds at once may not both find enough left.
  phase.transaction.lock(oncekey::natural_key({"payment", id}));
  const auto payment = find_payment(connection, phase.id.scope, "id", id);
  if (!payment) return Finish{not_found("There is no payment of that id.")};
  if (payment->status == "pending") return oncekey::Fail{"the payment is not decided yet"};
  const std::int64_t left =
      payment->status == "succeeded" ? payment->amount - refunded(connection, id) : 0;
  Refund refund;
  refund.id = id_of(phase, "ref");
  refund.payment = id;
  refund.provider_key = oncekey::derive_key(phase.id, refund_order.phase);
  refund.amount = input.value("amount", left);
  if (refund.amount < 1 || refund.amount > left) {
    return Finish{invalid("Of this payment " + std::to_string(left) + " is left to refund.")};
  }
  if (!insert(connection, refund)) return Finish{key_used_before()};
  return send_order(phase, refund_order, describe(refund),
                    {{"charge", payment->provider_id},
                     {"amount", refund.amount},
                     {"reference", refund.id},
                     {"metadata", input.value("metadata", json::object())}});
}

}  // namespace

oncekey::Workflow payment_workflow(Connection& connection, const Provider& provider) {
  oncekey::Phase intent;
  intent.name = "intent";
  intent.body = [&connection](const PhaseBody& phase) { return intend_payment(connection, phase); };
  const auto payment_now = [&connection](const PhaseBody& body) {
    return describe(*find_payment(connection, body.id.scope, "provider_key", body.key));
  };
  return oncekey::Workflow(
      "payment", {intent, calling_phase(connection, provider, charge_order, payment_now)});
}

oncekey::Workflow refund_workflow(Connection& connection, const Provider& provider) {
  oncekey::Phase intent;
  intent.name = "intent";
  intent.body = [&connection](const PhaseBody& phase) { return intend_refund(connection, phase); };
  const auto refund_now = [&connection](const PhaseBody& body) {
    return describe(*find_refund(connection, body.id.scope, id_of(body, "ref")));
  };
  return oncekey::Workflow("refund",
                           {intent, calling_phase(connection, provider, refund_order, refund_now)});
}

}  // namespace payments
