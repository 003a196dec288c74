// Keys in localStorage, which outlive a reload, or in sessionStorage, which end with the tab.
import { parseEntry, printEntry } from "./entry_text.js";
import { checkName, damagedError, entriesMax, fullError, type KeyEntry, type KeyStore, type TakenKey } from "./keys.js";

export type WebStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

interface Locks {
  request<T>(name: string, callback: () => T): Promise<T>;
}

export class WebStorageKeys implements KeyStore {
  readonly #storage: WebStorage;
  readonly #prefix: string;

  constructor(storage: WebStorage, prefix = "oncekey:") {
    this.#storage = storage;
    this.#prefix = prefix;
  }

  take(name: string, keyIfNew: string, now: number): Promise<TakenKey> {
    return this.#alone(() => {
      checkName(name);
      const found = this.#read(name);
      if (found) return { entry: found, wasThere: true };
      if (this.#names().length >= entriesMax) throw fullError("the Web Storage");
      const entry = { name, key: keyIfNew, createdAt: now, expiresAt: 0 };
      this.#write(entry);
      // Some browsers take and forget, in private windows for example.
      if (this.#read(name)?.key !== keyIfNew) throw new Error("the Web Storage does not keep what is written");
      return { entry, wasThere: false };
    });
  }

  setExpiry(name: string, key: string, expiresAt: number): Promise<void> {
    return this.#alone(() => {
      const found = this.#read(name);
      if (found?.key === key) this.#write({ ...found, expiresAt });
    });
  }

  remove(name: string, key: string): Promise<void> {
    return this.#alone(() => {
      if (this.#read(name)?.key === key) this.#storage.removeItem(this.#prefix + name);
    });
  }

  list(): Promise<KeyEntry[]> {
    return this.#alone(() => this.#names().map((name) => this.#read(name)!));
  }

  // Tabs share the storage: one at a time, where the browser has Web Locks.
  async #alone<T>(change: () => T): Promise<T> {
    const locks = (globalThis.navigator as { locks?: Locks } | undefined)?.locks;
    return locks ? locks.request(`${this.#prefix}lock`, change) : change();
  }

  #read(name: string): KeyEntry | undefined {
    const text = this.#storage.getItem(this.#prefix + name);
    if (text === null) return undefined;
    const entry = parseEntry(text, name);
    if (!entry) throw damagedError(`the Web Storage's item "${this.#prefix}${name}"`);
    return entry;
  }

  #write(entry: KeyEntry): void {
    this.#storage.setItem(this.#prefix + entry.name, printEntry(entry));
  }

  #names(): string[] {
    const names: string[] = [];
    for (let i = 0; i < this.#storage.length; ++i) {
      const item = this.#storage.key(i);
      if (item?.startsWith(this.#prefix)) names.push(item.slice(this.#prefix.length));
    }
    return names;
  }
}
