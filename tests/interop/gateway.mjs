// The real gateway, on a free port, with a store in a temporary folder.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const binary = process.env.ONCEKEY_BINARY ?? join(process.cwd(), "../../build/oncekey");
const readyWithinMs = 60_000;

export class Gateway {
  #folder = mkdtempSync(join(tmpdir(), "oncekey-interop-"));
  #upstream;
  #process;
  port = 0; // another one after a restart

  static async start(upstream, toml) {
    const gateway = new Gateway();
    gateway.#upstream = upstream;
    writeFileSync(join(gateway.#folder, "oncekey.toml"), toml);
    try {
      await gateway.#launch();
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return gateway;
  }

  async restart() {
    await this.kill();
    await this.#launch();
  }

  async kill() {
    this.#process.kill("SIGKILL");
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, "exit");
  }

  async stop() {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }

  async #launch() {
    const child = spawn(
      binary,
      ["serve", "--config", join(this.#folder, "oncekey.toml"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        "--to", this.#upstream, "--store", `rocksdb:${join(this.#folder, "data")}`],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    this.#process = child;
    const { listen, admin } = await listening(child);
    this.port = Number(listen.split(":").pop());
    await ready(admin);
  }
}

// Its log is read on, so that the pipe never fills.
function listening(child) {
  return new Promise((resolve, reject) => {
    const lines = [];
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const event = parsed(line);
        if (event?.event === "listening") resolve(event);
      });
    }
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`the gateway does not listen:\n${lines.join("\n")}`)));
  });
}

async function ready(admin) {
  const deadline = performance.now() + readyWithinMs;
  for (;;) {
    const answer = await fetch(`http://${admin}/readyz`);
    await answer.arrayBuffer();
    if (answer.status === 200) return;
    if (performance.now() > deadline) throw new Error("the gateway does not become ready");
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
