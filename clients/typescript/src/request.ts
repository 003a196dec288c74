// The request that every attempt repeats, byte for byte.
import type { ClientOptions } from "./options.js";

export interface RepeatableRequest {
  readonly url: string;
  readonly init: RequestInit; // without body, headers and signal
  readonly headers: Headers;
  readonly body: ArrayBuffer | undefined;
  readonly signal: AbortSignal | undefined; // the caller's
}

const keyLengthMax = 255;
// The fields that are the client's, or fetch's, to write.
const ownFields = ["Host", "Content-Length", "Transfer-Encoding", "Connection"];

// Node 18 has it in a module only, whose name bundlers for browsers are not to follow.
async function randomSource(): Promise<Pick<Crypto, "getRandomValues">> {
  if (globalThis.crypto) return globalThis.crypto;
  const module = "node:crypto";
  return ((await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as { webcrypto: Crypto }).webcrypto;
}

// A UUID, version 4. crypto.randomUUID is missing where a page came by plain HTTP.
export async function randomKey(): Promise<string> {
  const bytes = (await randomSource()).getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40; // version 4
  bytes[8] = (bytes[8]! & 0x3f) | 0x80; // RFC 9562's variant
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// "": the key can be sent.
export function objectionToKey(key: string): string {
  if (key.length <= keyLengthMax && /^[!#-[\]-~]+$/.test(key)) return "";
  return `a key has 1 to ${keyLengthMax} visible ASCII characters, without quotes and backslashes`;
}

// Reads the body once, so that streams can be repeated and a form keeps its boundary. Throws a sentence.
export async function repeatable(
  input: string | URL | Request,
  init: RequestInit,
  options: ClientOptions,
): Promise<RepeatableRequest> {
  if ((init.redirect ?? "manual") !== "manual") {
    throw new Error('redirects are not followed: the key belongs to one address; leave "redirect" away');
  }
  const duplex = isStream(init.body) ? { duplex: "half" } : {};
  const given = new Request(input, { ...init, ...duplex, signal: null });
  if (given.mode === "no-cors") throw new Error('mode "no-cors" hides the answer, and cannot send a key');
  for (const name of [...ownFields, options.keyHeader]) {
    if (given.headers.has(name) || new Headers(init.headers).has(name)) {
      throw new Error(`the header ${name} is the client's to write`);
    }
  }
  const bytes = await given.arrayBuffer();
  const { method, headers } = given;
  // A URL's init may have fields that only this platform's fetch knows; a Request has none.
  const rest = input instanceof Request ? { ...attributesOf(input), ...init } : { ...init };
  for (const name of ["body", "headers", "signal", "duplex"]) delete (rest as Record<string, unknown>)[name];
  const signal = init.signal ?? (input instanceof Request ? input.signal : undefined);
  return {
    url: given.url,
    init: { ...rest, method, redirect: "manual" },
    headers: new Headers(headers),
    body: bytes.byteLength > 0 ? bytes : undefined,
    signal,
  };
}

function attributesOf(request: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = request;
  return { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy };
}

function isStream(body: RequestInit["body"]): boolean {
  return typeof ReadableStream !== "undefined" && body instanceof ReadableStream;
}
