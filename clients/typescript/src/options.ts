import type { KeyStore } from "./keys.js";

// Told before each pause: what is about to be tried again, and why.
export interface Retry {
  readonly attempts: number; // made so far
  readonly problem: string; // of the last one: "the answer was 503"
  readonly waitMs: number;
}

export interface ClientOptions {
  attemptsMax: number;
  deadlineMs: number; // of the whole run, pauses included
  attemptTimeoutMs: number; // of one attempt, from connecting to the last byte
  // A pause is a random part ("full jitter") of backoffMs * 2^(attempts - 1), at most backoffMaxMs, and
  // never shorter than the server's Retry-After.
  backoffMs: number;
  backoffMaxMs: number;
  // How long after its first attempt a key is used, unless the server has said how long by
  // Idempotency-Expires. Servers forget keys, usually after 24 h; then a retry would run again.
  keyAgeMaxMs: number;
  answerSizeMax: number; // a longer body is cut, and marked
  keyHeader: string;
  quotedKey: boolean; // "abc" instead of abc, for servers that are strict about RFC 8941
  keys: KeyStore | undefined; // keeps the keys of operations that have a name
  // False: the caller removes a settled operation from the key store, once its answer is safe.
  forgetSettled: boolean;
  onRetry: ((retry: Retry) => void) | undefined;
  fetch: typeof globalThis.fetch | undefined; // undefined: the platform's own
}

export const defaultOptions: Readonly<ClientOptions> = {
  attemptsMax: 10,
  deadlineMs: 120_000,
  attemptTimeoutMs: 30_000,
  backoffMs: 200,
  backoffMaxMs: 30_000,
  keyAgeMaxMs: 23 * 3_600_000,
  answerSizeMax: 16 * 1024 * 1024,
  keyHeader: "Idempotency-Key",
  quotedKey: false,
  keys: undefined,
  forgetSettled: true,
  onRetry: undefined,
  fetch: undefined,
};

// Time, pauses and chance, for tests that want to decide them.
export interface Surroundings {
  wallMs(): number; // since the Unix epoch
  steadyMs(): number; // never goes back
  pause(durationMs: number, signal: AbortSignal): Promise<void>; // ends early, without an error, on abort
  chance(): number; // from 0 up to, not including, 1
}

export const timerMsMax = 2 ** 31 - 1; // a longer timer fires at once

export const realSurroundings: Readonly<Surroundings> = {
  wallMs: () => Date.now(),
  steadyMs: () => performance.now(),
  pause: (durationMs, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(durationMs, timerMsMax));
      signal.addEventListener("abort", end);
    }),
  chance: () => Math.random(),
};
