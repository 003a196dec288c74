// Every case of tests/clients/cases.json against a real server, with the test's own clock.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Client, type ClientOptions, type KeyStore, type Result, type Surroundings } from "@oncekey/client";

import { ListedAnswers, type ListedAnswer } from "./listed_answers.js";
import { storeKinds } from "./stores.js";

interface Case {
  name: string;
  options?: Record<string, number | boolean>;
  chance?: number;
  key?: string;
  key_sent?: string;
  named?: boolean;
  kept?: { key: string; age_ms: number; expires_in_ms?: number };
  answers: ListedAnswer[];
  attempts: number;
  waits_ms: number[];
  result: { answer: number; settled: boolean } | { gave_up: string; same_key_is_safe: boolean };
  kept_after?: boolean;
}

const source = process.env.ONCEKEY_SOURCE_DIR ?? join(process.cwd(), "../..");
const table = JSON.parse(readFileSync(join(source, "tests/clients/cases.json"), "utf8")) as { start: string; cases: Case[] };

const optionNames: Record<string, keyof ClientOptions> = {
  attempts_max: "attemptsMax",
  deadline_ms: "deadlineMs",
  backoff_ms: "backoffMs",
  backoff_max_ms: "backoffMaxMs",
  key_age_max_ms: "keyAgeMaxMs",
  quoted_key: "quotedKey",
};

// A name of ours that is not read would make a case pass for nothing.
function expectKnown(object: object, known: string[]): void {
  for (const name of Object.keys(object)) {
    assert.ok(known.includes(name), `cases.json has a field that the test does not know: ${name}`);
  }
}

function optionsOf(given: Record<string, number | boolean>): Partial<ClientOptions> {
  expectKnown(given, Object.keys(optionNames));
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [optionNames[name], value]));
}

function described(result: Result): Case["result"] {
  return result.outcome === "finished"
    ? { answer: result.response.status, settled: result.settled }
    : { gave_up: result.why, same_key_is_safe: result.sameKeyIsSafe };
}

async function holds(given: Case, keys: KeyStore): Promise<void> {
  expectKnown(given, ["name", "options", "chance", "key", "key_sent", "named", "kept", "answers", "attempts",
    "waits_ms", "result", "kept_after"]);
  for (const answer of given.answers) expectKnown(answer, ["status", "headers", "body", "way"]);
  let now = Date.parse(table.start);
  const waits: number[] = [];
  const surroundings: Surroundings = {
    wallMs: () => now,
    steadyMs: () => now,
    pause: async (duration) => {
      waits.push(duration);
      now += duration;
    },
    chance: () => given.chance ?? 0.5,
  };
  if (given.kept) {
    const { key, age_ms: age, expires_in_ms: expiresIn } = given.kept;
    await keys.take("operation", key, now - age);
    if (expiresIn !== undefined) await keys.setExpiry("operation", key, now + expiresIn);
  }
  const name = given.kept || given.named ? "operation" : undefined;
  const server = await ListedAnswers.start(given.answers);
  try {
    const client = new Client({ ...optionsOf(given.options ?? {}), keys }, surroundings);
    const body = '{"item":1}';
    const result = await client.run(`${server.url}/base/orders`, { method: "POST", body }, { name, key: given.key });

    assert.deepEqual(described(result), given.result);
    assert.deepEqual(waits, given.waits_ms);
    assert.equal(server.requests.length, given.attempts);
    assert.equal(result.attempts, given.attempts);
    for (const request of server.requests) {
      assert.equal(`${request.method} ${request.target}`, "POST /base/orders");
      assert.equal(request.body, body);
      assert.equal(request.headers["idempotency-key"], given.key_sent ?? result.key);
    }
    if (given.kept) assert.equal(result.key, given.kept.key);
    if (given.kept_after !== undefined) assert.equal((await keys.list()).length, given.kept_after ? 1 : 0);
  } finally {
    await server.stop();
  }
}

test("the table is there", () => assert.ok(table.cases.length > 50));
for (const each of table.cases) {
  // Where no key is kept, the store does not matter.
  const kinds = each.kept || each.named ? storeKinds : storeKinds.slice(0, 1);
  for (const kind of kinds) test(`${each.name} (${kind.name})`, () => kind.use((keys) => holds(each, keys)));
}
