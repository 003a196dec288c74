// An entry as stores write it: one line of JSON.
import type { KeyEntry } from "./keys.js";

const version = 1;

export function printEntry({ name, key, createdAt, expiresAt }: KeyEntry): string {
  return JSON.stringify({ oncekey_key: version, name, key, created_at: createdAt, expires_at: expiresAt });
}

// undefined: damaged, or the entry of another name.
export function parseEntry(text: string, name?: string): KeyEntry | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null) return undefined;
  const fields = found as Record<string, unknown>;
  const { name: itsName, key, created_at: createdAt, expires_at: expiresAt } = fields;
  if (fields.oncekey_key !== version || typeof itsName !== "string" || typeof key !== "string" || key === "") {
    return undefined;
  }
  if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(expiresAt)) return undefined;
  if (name !== undefined && itsName !== name) return undefined;
  return { name: itsName, key, createdAt: createdAt as number, expiresAt: expiresAt as number };
}
