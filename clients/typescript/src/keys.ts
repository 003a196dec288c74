// Where the keys of operations are kept that have not come to their end.

export interface KeyEntry {
  readonly name: string;
  readonly key: string;
  readonly createdAt: number; // milliseconds since the Unix epoch
  readonly expiresAt: number; // as the server said; 0: it has not
}

export interface TakenKey {
  readonly entry: KeyEntry;
  readonly wasThere: boolean; // so an earlier attempt may have been made
}

// A store must have written a change before its promise is fulfilled, and must reject when it cannot, or
// when what it finds is damaged: a key that is lost is an operation that may run twice.
export interface KeyStore {
  // The entry of this name; when there is none, one with `keyIfNew` is kept. Of two callers at once, both
  // get the same.
  take(name: string, keyIfNew: string, now: number): Promise<TakenKey>;
  // Both do nothing when the name has another key, or none, by now.
  setExpiry(name: string, key: string, expiresAt: number): Promise<void>;
  remove(name: string, key: string): Promise<void>;
  list(): Promise<KeyEntry[]>;
}

export const nameLengthMax = 1000;
export const entriesMax = 10_000;

export function checkName(name: string): void {
  if (name.length === 0 || name.length > nameLengthMax) {
    throw new Error(`an operation's name has 1 to ${nameLengthMax} characters`);
  }
}

export function fullError(where: string): Error {
  return new Error(`${where} has ${entriesMax} operations that have not come to their end, which is its limit`);
}

export function damagedError(where: string): Error {
  return new Error(
    `${where} is damaged. The operation may have run: look it up in the API, then remove the entry.`,
  );
}

// For one process: a retry after an exception keeps its key, a restart does not.
export class MemoryKeys implements KeyStore {
  readonly #entries = new Map<string, KeyEntry>();

  async take(name: string, keyIfNew: string, now: number): Promise<TakenKey> {
    checkName(name);
    const found = this.#entries.get(name);
    if (found) return { entry: found, wasThere: true };
    if (this.#entries.size >= entriesMax) throw fullError("the key memory");
    const entry = { name, key: keyIfNew, createdAt: now, expiresAt: 0 };
    this.#entries.set(name, entry);
    return { entry, wasThere: false };
  }

  async setExpiry(name: string, key: string, expiresAt: number): Promise<void> {
    const found = this.#entries.get(name);
    if (found?.key === key) this.#entries.set(name, { ...found, expiresAt });
  }

  async remove(name: string, key: string): Promise<void> {
    if (this.#entries.get(name)?.key === key) this.#entries.delete(name);
  }

  async list(): Promise<KeyEntry[]> {
    return [...this.#entries.values()];
  }
}
