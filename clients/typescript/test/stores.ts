// Every kind of key store, each made anew for a test.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { MemoryKeys, WebStorageKeys, type KeyStore, type WebStorage } from "@oncekey/client";
import { FileKeys } from "@oncekey/client/node";

export async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "oncekey-client-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

// What browsers give a page, without the browser (browser_test.ts has that).
export class MapStorage implements WebStorage {
  readonly items = new Map<string, string>();
  #names: string[] = []; // as they were when a walk over the keys began
  get length(): number {
    return this.items.size;
  }
  key(index: number): string | null {
    if (index === 0) this.#names = [...this.items.keys()];
    return this.#names[index] ?? null;
  }
  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.items.set(name, value);
  }
  removeItem(name: string): void {
    this.items.delete(name);
  }
}

interface StoreKind {
  name: string;
  use(test: (keys: KeyStore) => Promise<void>): Promise<void>;
}

export const storeKinds: StoreKind[] = [
  { name: "memory", use: (test) => test(new MemoryKeys()) },
  { name: "Web Storage", use: (test) => test(new WebStorageKeys(new MapStorage())) },
  { name: "files", use: (test) => inFolder((folder) => test(new FileKeys(join(folder, "keys")))) },
];
