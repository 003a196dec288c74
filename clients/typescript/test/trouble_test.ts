// What the table cannot say: real time, connections that do not come about, what cannot be sent.
import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";

import { Client, GaveUpError, isReplayed, MemoryKeys, realSurroundings } from "@oncekey/client";
import type { Finished, GaveUp, Operation, Result, Retry } from "@oncekey/client";

import { ListedAnswers, type ListedAnswer } from "./listed_answers.js";

const quick = { backoffMs: 1, attemptsMax: 3 };

async function withServer(answers: ListedAnswer[], use: (server: ListedAnswers) => Promise<void>): Promise<void> {
  const server = await ListedAnswers.start(answers);
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

function finished(result: Result): Finished {
  assert.ok(result.outcome === "finished", JSON.stringify(result));
  return result;
}

function gaveUp(result: Result): GaveUp {
  assert.ok(result.outcome === "gave_up", "it did not give up");
  return result;
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("silence ends with the attempt's timeout", () =>
  withServer([{ way: "silence" }, { status: 201 }], async (server) => {
    const result = finished(await new Client({ ...quick, attemptTimeoutMs: 100 }).run(server.url));
    assert.equal(result.attempts, 2);
  }));

test("the deadline ends an attempt", () =>
  withServer([{ way: "silence" }], async (server) => {
    const result = gaveUp(await new Client({ ...quick, deadlineMs: 100 }).run(server.url));
    assert.equal(result.why, "deadline");
    assert.equal(result.sameKeyIsSafe, true);
  }));

test("abort ends an attempt", () =>
  withServer([{ way: "silence" }], async (server) => {
    const abort = new AbortController();
    void server.asked().then(() => abort.abort());
    const result = gaveUp(await new Client().run(server.url, { signal: abort.signal }));
    assert.equal(result.why, "aborted");
    assert.equal(result.attempts, 1);
    assert.equal(result.sameKeyIsSafe, true);
  }));

test("abort ends a pause", () =>
  withServer([{ status: 503, headers: { "Retry-After": "100" } }], async (server) => {
    const abort = new AbortController();
    const begun = performance.now();
    const run = new Client({}, {
      ...realSurroundings,
      pause: async (duration, signal) => {
        const paused = realSurroundings.pause(duration, signal);
        abort.abort();
        await paused;
      },
    }).run(server.url, { signal: abort.signal });
    assert.equal(gaveUp(await run).why, "aborted");
    assert.ok(performance.now() - begun < 50_000);
  }));

test("a signal that is aborted before sends nothing", () =>
  withServer([{ status: 201 }], async (server) => {
    const result = gaveUp(await new Client().run(server.url, { body: "{}", signal: AbortSignal.abort() }));
    assert.equal(result.why, "aborted");
    assert.equal(server.requests.length, 0);
  }));

test("a refused connection is tried again, and proves that nothing ran", async () => {
  const port = await closedPort();
  const result = gaveUp(await new Client(quick).run(`http://127.0.0.1:${port}`));
  assert.equal(result.why, "attempts");
  assert.equal(result.attempts, 3);
  assert.match(result.detail, /ECONNREFUSED/);
  assert.equal(result.maybeExecuted, false);
  // A 401 that follows is then the operation's own answer; after a lost connection it is not.
  for (const custom of [false, true]) {
    await withServer([{ status: 401 }], async (server) => {
      const target = new URL(server.url);
      let first = true;
      const redirected: typeof fetch = (_input, init) => {
        const to = first ? `http://127.0.0.1:${port}` : target;
        first = false;
        return platformFetch(to, init);
      };
      const platformFetch = globalThis.fetch;
      if (!custom) globalThis.fetch = redirected;
      try {
        const client = new Client(custom ? { ...quick, fetch: redirected } : quick);
        // Somebody else's fetch may have tried before: nothing is proved.
        assert.equal(finished(await client.run(target)).settled, !custom);
      } finally {
        globalThis.fetch = platformFetch;
      }
    });
  }
});

test("a long answer is cut and marked", () =>
  withServer([{ status: 201, body: "x".repeat(100_000) }], async (server) => {
    const result = finished(await new Client({ ...quick, answerSizeMax: 1000 }).run(server.url));
    assert.equal(result.bodyCut, true);
    assert.equal((await result.response.text()).length, 1000);
  }));

test("the answer is a Response like fetch's", () =>
  withServer([{ status: 201, headers: { Location: "/orders/1", "Idempotent-Replayed": "true" }, body: '{"id":1}' }], async (server) => {
    const response = await new Client().fetch(`${server.url}/orders`, { method: "POST", body: "{}" });
    assert.equal(response.status, 201);
    assert.equal(response.ok, true);
    assert.equal(response.url, `${server.url}/orders`);
    assert.equal(response.headers.get("location"), "/orders/1");
    assert.equal(isReplayed(response.headers), true);
    assert.deepEqual(await response.json(), { id: 1 });
  }));

test("an answer without a body is one", () =>
  withServer([{ status: 204, body: "" }], async (server) => {
    const { response } = finished(await new Client().run(server.url));
    assert.equal(response.status, 204);
    assert.equal(await response.text(), "");
  }));

test("fetch rejects with the reason", () =>
  withServer([{ status: 503 }], async (server) => {
    const rejected = new Client(quick).fetch(server.url);
    await assert.rejects(rejected, (error: unknown) => {
      assert.ok(error instanceof GaveUpError);
      assert.equal(error.gaveUp.why, "attempts");
      assert.equal(error.gaveUp.lastResponse?.status, 503);
      assert.match(error.message, /same key is safe/);
      return true;
    });
  }));

test("every operation has a key of its own", () =>
  withServer([{ status: 201 }], async (server) => {
    const client = new Client();
    const keys = [finished(await client.run(server.url)).key, finished(await client.run(server.url)).key];
    for (const key of keys) assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(keys[0], keys[1]);
  }));

test("attempts repeat a body of any kind byte for byte", () =>
  withServer([{ status: 503 }, { way: "reset" }, { status: 201 }], async (server) => {
    const form = new FormData();
    form.set("amount", "1250");
    const stream = () => new Blob(["a stream's ", "content"]).stream();
    const bodies: [BodyInit, RegExp][] = [
      ["text", /^text$/],
      [new TextEncoder().encode("bytes"), /^bytes$/],
      [new URLSearchParams({ amount: "1250" }), /^amount=1250$/],
      [form, /name="amount"\r\n\r\n1250\r\n/],
      [stream(), /^a stream's content$/],
    ];
    for (const [body, expected] of bodies) {
      server.requests.length = 0;
      finished(await new Client(quick).run(server.url, { body }));
      assert.equal(server.requests.length, 3);
      for (const request of server.requests) {
        assert.match(request.body, expected);
        assert.equal(request.body, server.requests[0]!.body);
        assert.equal(request.headers["content-type"], server.requests[0]!.headers["content-type"]);
      }
    }
  }));

test("a Request is taken like a URL", () =>
  withServer([{ status: 503 }, { status: 201 }], async (server) => {
    const request = new Request(`${server.url}/orders`, { method: "PATCH", headers: { "X-Tenant": "a" }, body: "{}" });
    finished(await new Client(quick).run(request));
    assert.deepEqual(server.requests.map(({ method, target, body, headers }) => [method, target, body, headers["x-tenant"]]),
      [["PATCH", "/orders", "{}", "a"], ["PATCH", "/orders", "{}", "a"]]);
  }));

test("what cannot be sent is not sent and not kept", () =>
  withServer([{ status: 201 }], async (server) => {
    const keys = new MemoryKeys();
    const client = new Client({ keys });
    const wrong: [string, RequestInit, Operation][] = [
      ["not a URL", {}, {}],
      [server.url, { method: "PO ST" }, {}],
      [server.url, { headers: { "X-Note": "a\r\nX-Other: b" } }, {}],
      [server.url, { headers: { "Idempotency-Key": "mine" } }, {}],
      [server.url, { headers: { "content-length": "1" } }, {}],
      [server.url, { redirect: "follow" }, {}],
      [server.url, { mode: "no-cors" }, {}],
      [server.url, { method: "GET", body: "{}" }, {}],
      [server.url, {}, { key: "" }],
      [server.url, {}, { key: "a key" }],
      [server.url, {}, { key: 'a"key' }],
      [server.url, {}, { key: "a".repeat(256) }],
    ];
    for (const [url, init, operation] of wrong) {
      const result = gaveUp(await client.run(url, init, { name: "operation", ...operation }));
      assert.equal(result.why, "invalid", JSON.stringify([init, operation]));
      assert.notEqual(result.detail, "");
    }
    const nowhere = gaveUp(await new Client().run(server.url, {}, { name: "operation" }));
    assert.equal(nowhere.why, "invalid");
    assert.match(nowhere.detail, /key store/);
    assert.equal(server.requests.length, 0);
    assert.deepEqual(await keys.list(), []);
  }));

test("a key that cannot be kept is not used", () =>
  withServer([{ status: 201 }], async (server) => {
    const keys = new MemoryKeys();
    keys.take = () => Promise.reject(new Error("the disk is full"));
    const result = gaveUp(await new Client({ keys }).run(server.url, {}, { name: "operation" }));
    assert.equal(result.why, "key_store");
    assert.match(result.detail, /disk is full/);
    assert.equal(server.requests.length, 0);
  }));

test("an entry that cannot be removed does no harm", () =>
  withServer([{ status: 201 }], async (server) => {
    const keys = new MemoryKeys();
    keys.remove = () => Promise.reject(new Error("the disk is full"));
    const client = new Client({ keys });
    const first = finished(await client.run(server.url, {}, { name: "operation" }));
    const second = finished(await client.run(server.url, {}, { name: "operation" }));
    assert.equal(second.key, first.key);
  }));

test("a given key that contradicts the store is refused", () =>
  withServer([{ status: 201 }], async (server) => {
    const keys = new MemoryKeys();
    await keys.take("operation", "the-first-key", Date.now());
    const result = gaveUp(await new Client({ keys }).run(server.url, {}, { key: "the-second-key", name: "operation" }));
    assert.equal(result.why, "invalid");
    assert.equal(server.requests.length, 0);
    assert.equal((await keys.list())[0]!.key, "the-first-key");
  }));

test("a settled operation stays until its caller has its answer safe", () =>
  withServer([{ status: 201 }], async (server) => {
    const keys = new MemoryKeys();
    const client = new Client({ keys, forgetSettled: false });
    const first = finished(await client.run(server.url, {}, { name: "operation" }));
    assert.equal(first.settled, true);
    assert.equal(finished(await client.run(server.url, {}, { name: "operation" })).key, first.key);
    await keys.remove("operation", first.key);
    assert.notEqual(finished(await client.run(server.url, {}, { name: "operation" })).key, first.key);
  }));

test("the caller is told of each retry", () =>
  withServer([{ status: 503 }, { status: 409, headers: { "Retry-After": "1" } }, { status: 201 }], async (server) => {
    const told: Retry[] = [];
    const pause = async () => undefined;
    const client = new Client({ onRetry: (retry) => told.push(retry) }, { ...realSurroundings, pause, chance: () => 0.5 });
    finished(await client.run(server.url));
    assert.deepEqual(told, [
      { attempts: 1, problem: "the answer was 503", waitMs: 100 },
      { attempts: 2, problem: "the answer was 409", waitMs: 1000 },
    ]);
  }));
