// Our own client, held to the same.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { describeRetries } from "./retry_scenarios.mjs";

const dist = process.env.ONCEKEY_CLIENT_DIST ?? join(process.cwd(), "../../clients/typescript/dist");
const entry = join(dist, "index.js");

if (existsSync(entry)) {
  const { Client, isReplayed } = await import(pathToFileURL(entry).href);
  describeRetries({
    name: "@oncekey/client",
    profile: "ietf",
    match: "POST /payments",
    mismatchStatus: 422,
    knowsReplays: true,
    retriesHalfAnswers: true,

    async pay(port, { retries, amount, key }) {
      const client = new Client({ attemptsMax: retries + 1 });
      const init = { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ amount }) };
      const result = await client.run(`http://127.0.0.1:${port}/payments`, init, { key });
      const response = result.response ?? result.lastResponse;
      const body = await response?.json();
      const replayed = response !== undefined && isReplayed(response.headers);
      if (!response?.ok) throw { status: response?.status, replayed, message: body?.error?.message, code: body?.code };
      return { id: body.id, replayed };
    },

    read: ({ status, replayed, message }) => ({ status, replayed, message }),
    checkMismatch: (error) => assert.equal(error.code, "idempotency_key_reused"),
  });
} else {
  test("our client", { skip: `it is not built: ${entry}` }, () => undefined);
}
