import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import Stripe from "stripe";

import { describeRetries, withParts } from "./retry_scenarios.mjs";

const sdk = {
  name: `stripe ${Stripe.PACKAGE_VERSION}`,
  profile: "stripe",
  match: "POST /v1/payment_intents",
  mismatchStatus: 400,

  async pay(port, { retries, amount, key }) {
    const stripe = new Stripe("sk_test_interop", {
      host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: retries, telemetry: false,
    });
    const options = key ? { idempotencyKey: key } : {};
    const intent = await stripe.paymentIntents.create({ amount, currency: "eur" }, options);
    return { id: intent.id, replayed: intent.lastResponse.headers["idempotent-replayed"] === "true" };
  },

  read: (error) => ({
    status: error.statusCode,
    replayed: error.headers?.["idempotent-replayed"] === "true",
    message: error.message,
  }),

  checkMismatch: (error) => assert.ok(error instanceof Stripe.errors.StripeIdempotencyError, error.type),
};

describeRetries(sdk);

describe("stripe: its own ways", { concurrency: 4 }, () => {
  it("it makes a key of its own for each call", () =>
    withParts(sdk, {}, async ({ api, pay }) => {
      await pay();
      await pay();
      assert.equal(api.executions.length, 2);
      const keys = api.arrivals.map(({ key }) => key);
      for (const key of keys) assert.match(key, /^stripe-node-retry-[0-9a-f-]{36}$/);
      assert.notEqual(keys[0], keys[1]);
    }));

  it("a reset is tried again once even without retries, and does not execute twice", () =>
    withParts(sdk, {}, async ({ api, proxy, pay }) => {
      proxy.cutAnswer();
      assert.deepEqual(await pay({ retries: 0 }), { id: "pay_1", replayed: true });
      assert.deepEqual([api.arrivals.length, api.executions.length], [1, 1]);
    }));

  it("a call whose first is still running has the code that Stripe's clients know", async () => {
    let finish;
    const until = new Promise((resolve) => (finish = resolve));
    await withParts(sdk, { steps: [{ until }] }, async ({ api, pay }) => {
      const key = randomUUID();
      const first = pay({ key });
      await api.executed(1);
      await assert.rejects(pay({ key, retries: 0 }), { statusCode: 409, code: "idempotency_key_in_use" });
      finish();
      assert.equal((await first).id, "pay_1");
    });
  });
});
