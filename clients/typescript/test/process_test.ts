// Keys across kills and processes: whatever is killed, the server hears of one key for one name.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { FileKeys } from "@oncekey/client/node";

import { ListedAnswers } from "./listed_answers.js";
import { inFolder } from "./stores.js";

const program = fileURLToPath(new URL("operation_main.js", import.meta.url));

function start(url: string, folder: string, name: string): ChildProcess {
  return spawn(process.execPath, [program, url, folder, name], { stdio: ["ignore", "pipe", "inherit"] });
}

async function endOf(child: ChildProcess): Promise<{ outcome: string; key: string; attempts: number }> {
  return JSON.parse(await text(child.stdout!));
}

test("killed after it was heard, an operation goes on under the same key", () =>
  inFolder(async (folder) => {
    const server = await ListedAnswers.start([{ way: "silence" }, { status: 201 }]);
    const heard = server.asked();
    const first = start(server.url, join(folder, "keys"), "pay invoice 1");
    await heard;
    first.kill("SIGKILL");
    await once(first, "exit");
    const kept = await new FileKeys(join(folder, "keys")).list();
    assert.deepEqual(kept.map((entry) => entry.name), ["pay invoice 1"]);
    const end = await endOf(start(server.url, join(folder, "keys"), "pay invoice 1"));
    assert.deepEqual(end, { outcome: "finished", key: kept[0]!.key, attempts: 1 });
    assert.deepEqual(server.requests.map((request) => request.headers["idempotency-key"]), [end.key, end.key]);
    assert.deepEqual(await new FileKeys(join(folder, "keys")).list(), []);
    await server.stop();
  }));

test("processes with one name at once use one key", () =>
  inFolder(async (folder) => {
    // Nobody has an answer before all of them have taken the key.
    const server = await ListedAnswers.start((requests) => {
      const processes = new Set(requests.map((request) => request.headers["x-process"]));
      return { status: processes.size < 4 ? 409 : 201 };
    });
    const children = Array.from({ length: 4 }, () => start(server.url, join(folder, "keys"), "pay invoice 2"));
    const ends = await Promise.all(children.map(endOf));
    assert.deepEqual(ends.map((end) => end.outcome), Array(4).fill("finished"));
    assert.equal(new Set(server.requests.map((request) => request.headers["idempotency-key"])).size, 1);
    await server.stop();
  }));
