// One attempt: the request goes out once, and either a whole answer comes back or none.
import { timerMsMax } from "./options.js";
import type { RepeatableRequest } from "./request.js";

export interface Answer {
  readonly kind: "answer";
  readonly response: Response;
  readonly bodyCut: boolean;
}
export interface NoAnswer {
  readonly kind: "no_answer";
  readonly nothingSent: boolean; // proved: the server cannot have heard of it
  readonly error: string;
}

export interface AttemptLimits {
  readonly timeoutMs: number;
  readonly answerSizeMax: number;
}

export async function perform(
  fetchOnce: typeof globalThis.fetch | undefined,
  request: RepeatableRequest,
  limits: AttemptLimits,
  stop: AbortSignal,
): Promise<Answer | NoAnswer> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, Math.min(limits.timeoutMs, timerMsMax));
  stop.addEventListener("abort", end);
  if (stop.aborted) end();
  try {
    const init: RequestInit = { ...request.init, headers: request.headers, signal: ending.signal };
    if (request.body) init.body = request.body;
    const send = fetchOnce ?? globalThis.fetch;
    return await wholeAnswer(await send(request.url, init), limits.answerSizeMax, end);
  } catch (error) {
    const timedOut = ending.signal.aborted && !stop.aborted;
    return {
      kind: "no_answer",
      // A fetch of somebody else's may have tried before the try that failed.
      nothingSent: fetchOnce === undefined && provesNothingSent(error),
      error: timedOut ? `no answer within ${limits.timeoutMs} ms` : describe(error),
    };
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", end);
  }
}

async function wholeAnswer(response: Response, sizeMax: number, end: () => void): Promise<Answer> {
  // Browsers hide everything of a redirect but that it is one.
  if (response.type === "opaqueredirect") return { kind: "answer", response, bodyCut: false };
  const { bytes, cut } = await readBody(response, sizeMax);
  if (cut) end(); // or the rest would keep the connection
  const empty = [204, 205, 304].includes(response.status);
  const { status, statusText, headers } = response;
  const whole = new Response(empty ? null : bytes, { status, statusText, headers });
  Object.defineProperty(whole, "url", { value: response.url });
  return { kind: "answer", response: whole, bodyCut: cut };
}

async function readBody(response: Response, sizeMax: number): Promise<{ bytes: Uint8Array<ArrayBuffer>; cut: boolean }> {
  if (!response.body) return { bytes: new Uint8Array(await response.arrayBuffer()), cut: false };
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > sizeMax) break;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { bytes: bytes.slice(0, sizeMax), cut: size > sizeMax };
}

interface SystemError {
  code?: string;
  syscall?: string;
  errors?: unknown[]; // one for each address that was tried
}

// Only Node says how far it came. Elsewhere nothing is proved.
function provesNothingSent(error: unknown): boolean {
  const cause = (error as { cause?: unknown } | null)?.cause;
  if (typeof cause !== "object" || cause === null) return false;
  const { errors } = cause as SystemError;
  const all = Array.isArray(errors) && errors.length > 0 ? errors : [cause];
  return all.every((each) => {
    const { code, syscall } = each as SystemError;
    if (code === "ECONNREFUSED") return syscall === "connect";
    if (code === "ENOTFOUND" || code === "EAI_AGAIN") return syscall === "getaddrinfo";
    return code === "UND_ERR_CONNECT_TIMEOUT";
  });
}

// Node hides what happened in the cause: "fetch failed" alone helps nobody.
function describe(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error && parts.length < 4; at = at.cause) {
    const code = (at as SystemError).code;
    parts.push(at.message || code || at.name);
  }
  return parts.join(": ") || String(error);
}
