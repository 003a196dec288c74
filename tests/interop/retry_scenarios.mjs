// What an SDK's own retries meet, and what must come of it: never two executions, and the first answer.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import { CuttingProxy } from "./cutting_proxy.mjs";
import { FakeApi } from "./fake_api.mjs";
import { Gateway } from "./gateway.mjs";

const probe = `probe = { get = "/payments?key={key}", every = "100ms", every_max = "200ms", absent_after = "0ms" }`;

const doneWithinMs = 120_000; // the slowest takes a few seconds

// Starts all parts, with one route for the SDK's requests, and stops them, also when `use` does not end.
export async function withParts(sdk, { steps = [], route = "" }, use) {
  const parts = [];
  const started = async (starting) => {
    const part = await starting;
    parts.unshift(part);
    return part;
  };
  try {
    const api = await started(FakeApi.start(...steps));
    const toml = `[[route]]\nmatch = "${sdk.match}"\nprofile = "${sdk.profile}"\n${route}\n`;
    const gateway = await started(Gateway.start(api.url, toml));
    const proxy = await started(CuttingProxy.start(gateway));
    const pay = (options = {}) => sdk.pay(proxy.port, { retries: 8, amount: 1250, ...options });
    await inTime(use({ api, gateway, proxy, pay }), () =>
      `arrivals ${api.arrivals.length}, executions ${api.executions.length}, answers ${proxy.statuses.join(" ")}`);
  } finally {
    for (const part of parts) await part.stop();
  }
}

async function inTime(using, describeState) {
  let timer;
  const late = new Promise((_, reject) => {
    const tell = () => reject(new Error(`not done within ${doneWithinMs / 1000} s: ${describeState()}`));
    timer = setTimeout(tell, doneWithinMs);
  });
  try {
    await Promise.race([using, late]);
  } finally {
    clearTimeout(timer);
  }
}

function assertCounts(api, { arrivals, executions }) {
  assert.deepEqual([api.arrivals.length, api.executions.length], [arrivals, executions], "arrivals, executions");
  assert.equal(new Set(api.arrivals.map(({ key }) => key)).size, 1, "all under one key");
}

async function failure(promise) {
  return promise.then(
    () => assert.fail("the SDK reported success"),
    (error) => error,
  );
}

// An sdk:
//   name, profile, match                 of its requests' route
//   pay(port, { retries, amount, key })  -> { id, replayed }, or rejects with an error
//   read(error)                          -> { status, replayed, message }
//   mismatchStatus, checkMismatch(error) for another request under the same key
//   retriesHalfAnswers                   it retries when an answer breaks off in its body
//   knowsReplays                         it does not retry what is marked as a replay
export function describeRetries(sdk) {
  describe(`${sdk.name}: retries`, { concurrency: 4 }, () => {
    it("a lost answer comes again, from the record", () =>
      withParts(sdk, {}, async ({ api, proxy, pay }) => {
        proxy.cutAnswer();
        assert.deepEqual(await pay(), { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.deepEqual(proxy.statuses, [200]);
      }));

    it("half an answer is none: the same key brings the whole one", () =>
      withParts(sdk, {}, async ({ api, proxy, pay }) => {
        const key = randomUUID();
        proxy.cutHalf();
        // Not every SDK retries by itself; its caller does, who has the key.
        if (!sdk.retriesHalfAnswers) await failure(pay({ key }));
        assert.deepEqual(await pay({ key }), { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.deepEqual(proxy.statuses, [200]);
      }));

    it("a connection that is cut while it runs: 409 until it is done, then its answer", async () => {
      let finish;
      const until = new Promise((resolve) => (finish = resolve));
      await withParts(sdk, { steps: [{ until }] }, async ({ api, proxy, pay }) => {
        proxy.cutWhen(api.executed(1));
        void proxy.passed(409).then(finish);
        assert.deepEqual(await pay(), { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.equal(proxy.statuses[0], 409);
        assert.equal(proxy.statuses.at(-1), 200);
      });
    });

    it("two calls at once with one key: one executes, the other waits for its answer", async () => {
      let finish;
      const until = new Promise((resolve) => (finish = resolve));
      await withParts(sdk, { steps: [{ until }] }, async ({ api, proxy, pay }) => {
        const key = randomUUID();
        void proxy.passed(409).then(finish);
        const ends = await Promise.all([pay({ key }), pay({ key })]);
        assert.deepEqual(ends.map(({ id }) => id), ["pay_1", "pay_1"]);
        assert.deepEqual(ends.map(({ replayed }) => replayed).sort(), [false, true]);
        assertCounts(api, { arrivals: 1, executions: 1 });
      });
    });

    it("the API executes and breaks off: a probe finds the answer", () =>
      withParts(sdk, { steps: [{ cut: "after" }], route: probe }, async ({ api, proxy, pay }) => {
        assert.deepEqual(await pay(), { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.equal(proxy.statuses[0], 502);
      }));

    it("the API breaks off, and nobody can tell: it is not sent again", () =>
      withParts(sdk, { steps: [{ cut: "after" }] }, async ({ api, proxy, pay }) => {
        const key = randomUUID();
        assert.equal(sdk.read(await failure(pay({ key, retries: 0 }))).status, 502);
        assert.equal(sdk.read(await failure(pay({ key, retries: 0 }))).status, 409);
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.deepEqual(proxy.statuses, [502, 409]);
      }));

    it("the API breaks off before it executes: a probe says so, and the retry runs", () =>
      withParts(sdk, { steps: [{ cut: "before" }], route: probe }, async ({ api, pay }) => {
        assert.deepEqual(await pay(), { id: "pay_1", replayed: false });
        assertCounts(api, { arrivals: 2, executions: 1 });
        assert.deepEqual(api.arrivals.map(({ attempt }) => attempt), ["1", "2"]);
      }));

    it("500 after it was executed, on_5xx = replay: the first 500 again and again", () =>
      withParts(sdk, { steps: [{ status: 500, executes: true }], route: 'on_5xx = "replay"' }, async ({ api, proxy, pay }) => {
        const error = sdk.read(await failure(pay({ retries: 2 })));
        assert.deepEqual(error, { status: 500, replayed: true, message: "failure 1" });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.deepEqual(proxy.statuses, sdk.knowsReplays ? [500, 500] : [500, 500, 500]);
      }));

    it("500 before it was executed, on_5xx = retry: the retry executes, once", () =>
      withParts(sdk, { steps: [{ status: 500 }], route: 'on_5xx = "retry"' }, async ({ api, proxy, pay }) => {
        assert.deepEqual(await pay(), { id: "pay_1", replayed: false });
        assertCounts(api, { arrivals: 2, executions: 1 });
        assert.deepEqual(api.arrivals.map(({ attempt }) => attempt), ["1", "2"]);
        assert.deepEqual(proxy.statuses, [500, 200]);
      }));

    it("500 with Idempotency-Outcome: executed is kept whatever on_5xx says", () => {
      const step = { status: 500, executes: true, headers: { "Idempotency-Outcome": "executed" } };
      return withParts(sdk, { steps: [step], route: 'on_5xx = "retry"' }, async ({ api, pay }) => {
        const error = sdk.read(await failure(pay({ retries: 1 })));
        assert.deepEqual(error, { status: 500, replayed: true, message: "failure 1" });
        assertCounts(api, { arrivals: 1, executions: 1 });
      });
    });

    it("500 after it was executed, on_5xx = unknown: a probe finds the payment", () => {
      const steps = [{ status: 500, executes: true }];
      return withParts(sdk, { steps, route: `on_5xx = "unknown"\n${probe}` }, async ({ api, proxy, pay }) => {
        assert.deepEqual(await pay(), { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.equal(proxy.statuses[0], 500);
      });
    });

    it("the gateway is killed while it runs: after its restart a probe finds the answer", () =>
      withParts(sdk, { steps: [{ until: new Promise(() => undefined) }], route: probe }, async ({ api, gateway, pay }) => {
        const paid = pay();
        await api.executed(1);
        await gateway.restart();
        assert.deepEqual(await paid, { id: "pay_1", replayed: true });
        assertCounts(api, { arrivals: 1, executions: 1 });
      }));

    it("another request under the same key is refused, and not retried", () =>
      withParts(sdk, {}, async ({ api, proxy, pay }) => {
        const key = randomUUID();
        await pay({ key });
        const error = await failure(pay({ key, amount: 1 }));
        assert.equal(sdk.read(error).status, sdk.mismatchStatus);
        sdk.checkMismatch(error);
        assertCounts(api, { arrivals: 1, executions: 1 });
        assert.deepEqual(proxy.statuses, [200, sdk.mismatchStatus]);
      }));
  });
}
