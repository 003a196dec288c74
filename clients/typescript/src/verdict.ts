// What an answer says about the operation.
import { parseHttpDate, parseRetryAfter, parseRfc3339 } from "./when.js";

export interface Head {
  readonly status: number;
  readonly headers: Headers;
}

export type Verdict =
  | "settled" // the operation's answer
  | "refused" // this request did nothing; one before it may have
  | "again" // the same key will learn more
  | "unprotected"; // it may have run, and nobody keeps a record

export function isReplayed(headers: Headers): boolean {
  return isSet(headers, "Idempotency-Replayed", "true") || isSet(headers, "Idempotent-Replayed", "true");
}

export function judge({ status, headers }: Head): Verdict {
  // What is replayed was kept, and is replayed again.
  if (isReplayed(headers)) return "settled";
  if (isRetryable(status)) return isSet(headers, "Idempotency-Protected", "false") ? "unprotected" : "again";
  // Until when the answer is kept is said only of an answer that is kept. A redirect is none: it may come from a
  // login that stands before the server, and does not know of the operation. In a browser it has the status 0.
  const succeeded = status >= 200 && status < 300;
  if (succeeded || headers.get("Idempotency-Expires")) return "settled";
  return "refused";
}

export function retryAfter({ headers }: Head, now: number): number | undefined {
  return parseRetryAfter(headers.get("Retry-After") ?? "", now + clockDifference(headers, now));
}

// When the server forgets the key, by our clock.
export function expiry({ headers }: Head, now: number): number | undefined {
  const theirs = parseRfc3339(headers.get("Idempotency-Expires") ?? "");
  return theirs === undefined ? undefined : theirs - clockDifference(headers, now);
}

function isSet(headers: Headers, name: string, value: string): boolean {
  return headers.get(name)?.toLowerCase() === value;
}

function isRetryable(status: number): boolean {
  switch (status) {
    case 408: // the request did not arrive in time
    case 409: // the first attempt is still running, or its outcome is being determined
    case 425: // not before the connection is safe against replays
    case 429:
      return true;
    default:
      return status >= 500;
  }
}

// How far the server's clock is ahead of ours.
function clockDifference(headers: Headers, now: number): number {
  const date = parseHttpDate(headers.get("Date") ?? "");
  return date === undefined ? 0 : date - now;
}
