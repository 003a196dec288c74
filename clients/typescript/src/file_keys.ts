// Keys in a folder, a file for each operation, for Node. A file is made under another name, synced, and then
// linked into place: of two processes that take the same name one succeeds, and a power cut leaves all of it
// or nothing. No lock that a killed process could leave behind.
import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";

import { parseEntry, printEntry } from "./entry_text.js";
import { checkName, damagedError, entriesMax, fullError, type KeyEntry, type KeyStore, type TakenKey } from "./keys.js";

const suffix = ".key";
const ownerOnly = 0o600;
const ownerOnlyFolder = 0o700;

export class FileKeys implements KeyStore {
  readonly #folder: string;
  #last: Promise<unknown> = Promise.resolve();

  // The folder is made when it is first needed; the one it is in must exist, so that a missing disk is
  // noticed.
  constructor(folder: string) {
    this.#folder = folder;
  }

  take(name: string, keyIfNew: string, now: number): Promise<TakenKey> {
    return this.#inTurn(async () => {
      checkName(name);
      const found = await this.#read(name);
      if (found) return { entry: found, wasThere: true };
      await this.#makeFolder();
      if ((await this.#files()).length >= entriesMax) throw fullError(`the key folder ${this.#folder}`);
      const entry = { name, key: keyIfNew, createdAt: now, expiresAt: 0 };
      const next = await this.#writeNext(entry);
      try {
        await link(next, this.#path(name));
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        return { entry: await this.#readTaken(name), wasThere: true };
      } finally {
        await unlink(next);
      }
      await syncFolder(this.#folder);
      return { entry, wasThere: false };
    });
  }

  setExpiry(name: string, key: string, expiresAt: number): Promise<void> {
    return this.#inTurn(async () => {
      const found = await this.#read(name);
      if (found?.key !== key || found.expiresAt === expiresAt) return;
      const next = await this.#writeNext({ ...found, expiresAt });
      try {
        await rename(next, this.#path(name));
      } catch (error) {
        await rm(next, { force: true });
        throw error;
      }
      await syncFolder(this.#folder);
    });
  }

  remove(name: string, key: string): Promise<void> {
    return this.#inTurn(async () => {
      if ((await this.#read(name))?.key !== key) return;
      await rm(this.#path(name), { force: true });
      await syncFolder(this.#folder);
    });
  }

  list(): Promise<KeyEntry[]> {
    return this.#inTurn(async () => {
      const entries: KeyEntry[] = [];
      for (const file of await this.#files()) {
        const path = join(this.#folder, file);
        const text = await readIfThere(path);
        if (text === undefined) continue; // removed by another process just now
        const entry = parseEntry(text);
        if (!entry) throw damagedError(`the key file ${path}`);
        entries.push(entry);
      }
      return entries;
    });
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  // A name may have any characters and length; its hash may not.
  #path(name: string): string {
    return join(this.#folder, createHash("sha256").update(name).digest("hex") + suffix);
  }

  async #read(name: string): Promise<KeyEntry | undefined> {
    const path = this.#path(name);
    const text = await readIfThere(path);
    if (text === undefined) return undefined;
    const entry = parseEntry(text, name);
    if (!entry) throw damagedError(`the key file ${path}`);
    return entry;
  }

  async #readTaken(name: string): Promise<KeyEntry> {
    const entry = await this.#read(name);
    if (!entry) throw new Error(`the operation ${name} has come to its end in another process just now`);
    return entry;
  }

  async #makeFolder(): Promise<void> {
    try {
      await mkdir(this.#folder, { mode: ownerOnlyFolder });
      await syncFolder(join(this.#folder, ".."));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }

  async #files(): Promise<string[]> {
    try {
      return (await readdir(this.#folder)).filter((file) => file.endsWith(suffix)).sort();
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  async #writeNext(entry: KeyEntry): Promise<string> {
    const path = join(this.#folder, `${randomUUID()}.new`);
    const file = await open(path, "wx", ownerOnly);
    try {
      await file.writeFile(printEntry(entry) + "\n");
      await file.sync();
    } finally {
      await file.close();
    }
    return path;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

// A new name in a folder is on disk when the folder is. Windows has no such call.
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
