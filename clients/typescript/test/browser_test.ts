// The package as a page loads it, in a real browser: a reload goes on under the key in localStorage.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

import { inFolder } from "./stores.js";

const browser = ["chromium", "chromium-browser", "google-chrome"].find((name) => !spawnSync(name, ["--version"]).error);

const page = `<!doctype html><title>shop</title><script type="module">
import { Client, WebStorageKeys } from "/dist/index.js";
const client = new Client({ keys: new WebStorageKeys(localStorage), backoffMs: 10 });
const report = (body) => fetch("/report", { method: "POST", body: JSON.stringify(body) });
try {
  // The first load is reloaded by the server's word while its answer is still out.
  fetch("/reload").then((answer) => { if (answer.status === 200) location.reload(); });
  const result = await client.run("/orders", { method: "POST", body: "{}" }, { name: "pay invoice 7" });
  await report({ outcome: result.outcome, status: result.response?.status, key: result.key,
                 attempts: result.attempts, kept: localStorage.length });
} catch (error) {
  await report({ outcome: String(error) });
}
</script>`;

test("a reload goes on under the same key", { skip: browser ? false : "no chromium on this machine" }, () =>
  inFolder(async (profile) => {
    const keys: (string | undefined)[] = [];
    let reload: ServerResponse | undefined;
    let done: (report: string) => void;
    const reported = new Promise<string>((resolve) => (done = resolve));
    // The page's wish to be told and its order arrive in any order; the first load gets no answer to either.
    const tellToReload = () => {
      if (keys.length === 1 && reload) reload.writeHead(200).end();
    };
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = await text(request);
      if (request.url === "/orders") {
        keys.push(request.headers["idempotency-key"] as string | undefined);
        if (keys.length === 1) tellToReload();
        else response.writeHead(keys.length === 2 ? 409 : 201, { "Content-Type": "application/json" }).end("{}");
      } else if (request.url === "/reload") {
        if (reload) return void response.writeHead(204).end();
        reload = response;
        tellToReload();
      } else if (request.url === "/report") {
        response.end();
        done(body);
      } else if (request.url?.startsWith("/dist/")) {
        const file = await readFile(join(process.cwd(), request.url)).catch(() => undefined);
        response.writeHead(file ? 200 : 404, { "Content-Type": "text/javascript" }).end(file);
      } else {
        response.writeHead(200, { "Content-Type": "text/html" }).end(page);
      }
    };
    const server = createServer((request, response) => void serve(request, response).catch((error) => done(String(error))));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--disable-extensions", "--disable-background-networking", `--user-data-dir=${profile}`];
    const child = spawn(browser!, [...flags, url], { stdio: "ignore" });
    const ended = once(child, "exit").then(() => "the browser ended early");
    try {
      const report = JSON.parse(await Promise.race([reported, ended]));
      assert.deepEqual(report, { outcome: "finished", status: 201, key: keys[0], attempts: 2, kept: 0 });
      assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
    } finally {
      child.kill("SIGKILL");
      await ended;
      server.closeAllConnections();
      server.close();
    }
  }));
