import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import ModernTreasury from "modern-treasury";

import { describeRetries } from "./retry_scenarios.mjs";

const packageFile = new URL("node_modules/modern-treasury/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, "utf8"));

describeRetries({
  name: `modern-treasury ${version}`,
  profile: "ietf",
  match: "POST /api/payment_orders",
  mismatchStatus: 422,

  async pay(port, { retries, amount, key }) {
    const client = new ModernTreasury({
      baseURL: `http://127.0.0.1:${port}`, organizationID: "interop", apiKey: "test", maxRetries: retries,
    });
    const order = { amount, direction: "credit", originating_account_id: "account-1", type: "ach" };
    const { data, response } = await client.paymentOrders
      .create(order, key ? { idempotencyKey: key } : {})
      .withResponse();
    return { id: data.id, replayed: response.headers.get("idempotency-replayed") === "true" };
  },

  read: (error) => ({
    status: error.status,
    replayed: error.headers?.get("idempotency-replayed") === "true",
    message: error.error?.error?.message,
  }),

  checkMismatch: (error) => assert.equal(error.error.code, "idempotency_key_reused"),
});
