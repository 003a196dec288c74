// fetch that may be interrupted anywhere: it sends one operation under one key, again and again, until there
// is an answer that a further attempt would not change.
import { perform, type Answer, type NoAnswer } from "./attempt.js";
import { defaultOptions, realSurroundings, type ClientOptions, type Surroundings } from "./options.js";
import { objectionToKey, randomKey, repeatable, type RepeatableRequest } from "./request.js";
import { GaveUpError, type GaveUp, type Result, type Why } from "./result.js";
import { expiry, judge, retryAfter } from "./verdict.js";

export interface Operation {
  // In the key store: "pay invoice 7". Never used for another operation. undefined: the key is not kept.
  name?: string | undefined;
  // undefined: a random UUID. One that is given is taken for one that was used before.
  key?: string | undefined;
}

export class Client {
  readonly #options: ClientOptions;
  readonly #surroundings: Surroundings;

  constructor(options: Partial<ClientOptions> = {}, surroundings: Surroundings = realSurroundings) {
    this.#options = { ...defaultOptions, ...withoutUndefined(options) };
    this.#surroundings = surroundings;
  }

  // Never rejects: what went wrong is in the result. init.signal ends a pause and an attempt at once. Without
  // a method it is POST.
  run(input: string | URL | Request, init: RequestInit = {}, operation: Operation = {}): Promise<Result> {
    return new Run(this.#options, this.#surroundings, operation).toTheEnd(input, init);
  }

  // The same in the shape of fetch: rejects with GaveUpError. May be passed on as a function.
  readonly fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
    operation: Operation = {},
  ): Promise<Response> => {
    const result = await this.run(input, init, operation);
    if (result.outcome === "gave_up") throw new GaveUpError(result);
    return result.response;
  };
}

// One operation on its way to an answer.
class Run {
  readonly #options: ClientOptions;
  readonly #surroundings: Surroundings;
  readonly #operation: Operation;
  readonly #begunAt: number;
  #stop = new AbortController().signal;
  #key = "";
  #attempts = 0;
  #maybeExecuted = false; // by this run or one before
  #unprotected = false;
  #safeUntil = 0; // after it, the key may be a new one to the server
  #tooLate = false; // for the pause that is due
  #askedWait = 0;
  #problem = "";
  #lastResponse: Response | undefined;

  constructor(options: ClientOptions, surroundings: Surroundings, operation: Operation) {
    this.#options = options;
    this.#surroundings = surroundings;
    this.#operation = operation;
    this.#begunAt = surroundings.steadyMs();
  }

  async toTheEnd(input: string | URL | Request, init: RequestInit): Promise<Result> {
    let request: RepeatableRequest;
    try {
      const method = init.method ?? (input instanceof Request ? input.method : "POST");
      request = await repeatable(input, { ...init, method }, this.#options);
      this.#key = this.#operation.key ?? (await randomKey());
    } catch (error) {
      return this.#giveUp("invalid", messageOf(error));
    }
    if (request.signal) this.#stop = request.signal;
    // Looked at before a key is kept for what can never be sent, and again with the key that was kept.
    let objection = objectionToKey(this.#key);
    if (objection) return this.#giveUp("invalid", objection);
    const refused = await this.#settleKey();
    if (refused) return refused;
    objection = objectionToKey(this.#key);
    if (objection) return this.#giveUp("invalid", objection);
    const quote = this.#options.quotedKey ? '"' : "";
    request.headers.set(this.#options.keyHeader, quote + this.#key + quote);
    for (;;) {
      const ended =
        this.#mayGoOn() ?? (await this.#take(await this.#attempt(request))) ?? (await this.#pause());
      if (ended) return ended;
    }
  }

  #attempt(request: RepeatableRequest): Promise<Answer | NoAnswer> {
    ++this.#attempts;
    const { attemptTimeoutMs, answerSizeMax, fetch } = this.#options;
    const timeoutMs = Math.min(attemptTimeoutMs, this.#timeLeft());
    return perform(fetch, request, { timeoutMs, answerSizeMax }, this.#stop);
  }

  // The key that an earlier run has left for this name goes before the one just made.
  async #settleKey(): Promise<GaveUp | undefined> {
    const now = this.#surroundings.wallMs();
    const { name, key: given } = this.#operation;
    this.#maybeExecuted = given !== undefined;
    this.#safeUntil = now + this.#options.keyAgeMaxMs;
    if (name === undefined) return undefined;
    if (!this.#options.keys) {
      return this.#giveUp("invalid", `the operation ${name} has a name, and the client no key store to keep it in`);
    }
    try {
      const { entry, wasThere } = await this.#options.keys.take(name, this.#key, now);
      if (given !== undefined && entry.key !== given) {
        return this.#giveUp("invalid", `the operation ${name} is under way with another key than the one given`);
      }
      this.#key = entry.key;
      this.#maybeExecuted ||= wasThere;
      this.#safeUntil = entry.expiresAt || entry.createdAt + this.#options.keyAgeMaxMs;
    } catch (error) {
      return this.#giveUp("key_store", messageOf(error));
    }
    return undefined;
  }

  #mayGoOn(): GaveUp | undefined {
    if (this.#stop.aborted) return this.#giveUp("aborted", "called off");
    // A key that nothing was sent with cannot be too old.
    if (this.#isForgotten()) return this.#giveUp("key_expires", "the key is so old that the server may have forgotten it");
    if (this.#timeLeft() <= 0) return this.#giveUp("deadline", "the deadline is over");
    return undefined;
  }

  async #take(outcome: Answer | NoAnswer): Promise<Result | undefined> {
    this.#lastResponse = undefined;
    this.#askedWait = 0;
    if (outcome.kind === "no_answer") {
      this.#problem = outcome.error;
      this.#maybeExecuted ||= !outcome.nothingSent;
      return undefined;
    }
    const { response } = outcome;
    this.#lastResponse = response;
    this.#problem = `the answer was ${response.status}`;
    const now = this.#surroundings.wallMs();
    const expiresAt = expiry(response, now);
    if (expiresAt !== undefined) await this.#noteExpiry(expiresAt);
    switch (judge(response)) {
      case "settled":
        return this.#finish(outcome, true);
      case "refused":
        return this.#finish(outcome, !this.#maybeExecuted);
      case "unprotected":
        this.#unprotected = true;
        return this.#giveUp("unprotected", "it was executed without a record of it");
      case "again":
        this.#maybeExecuted = true;
        this.#askedWait = retryAfter(response, now) ?? 0;
        return undefined;
    }
  }

  async #pause(): Promise<GaveUp | undefined> {
    if (this.#stop.aborted) return this.#giveUp("aborted", "called off");
    if (this.#attempts >= this.#options.attemptsMax) {
      return this.#giveUp("attempts", `${this.#attempts} attempts were made`);
    }
    const wait = Math.max(this.#askedWait, this.#jitter());
    if (this.#maybeExecuted && this.#surroundings.wallMs() + wait >= this.#safeUntil) {
      this.#tooLate = true;
      return this.#giveUp("key_expires", "the server may have forgotten the key before the next attempt");
    }
    if (wait >= this.#timeLeft()) return this.#giveUp("deadline", "the deadline is before the next attempt");
    this.#options.onRetry?.({ attempts: this.#attempts, problem: this.#problem, waitMs: wait });
    await this.#surroundings.pause(wait, this.#stop);
    return undefined;
  }

  #jitter(): number {
    const { backoffMs, backoffMaxMs } = this.#options;
    const ceiling = Math.min(backoffMs * 2 ** (this.#attempts - 1), backoffMaxMs);
    return Math.floor(this.#surroundings.chance() * ceiling);
  }

  #timeLeft(): number {
    return this.#options.deadlineMs - (this.#surroundings.steadyMs() - this.#begunAt);
  }

  #isForgotten(): boolean {
    return this.#maybeExecuted && this.#surroundings.wallMs() >= this.#safeUntil;
  }

  // Kept for the next run as well. A store that cannot be written only leaves the older bound.
  async #noteExpiry(expiresAt: number): Promise<void> {
    this.#safeUntil = expiresAt;
    await this.#inStore((keys, name) => keys.setExpiry(name, this.#key, expiresAt));
  }

  async #finish({ response, bodyCut }: Answer, settled: boolean): Promise<Result> {
    // An entry that stays although it was to go does no harm: the next run gets the same answer.
    if (settled && this.#options.forgetSettled) await this.#inStore((keys, name) => keys.remove(name, this.#key));
    return { outcome: "finished", response, bodyCut, key: this.#key, attempts: this.#attempts, settled };
  }

  async #inStore(change: (keys: NonNullable<ClientOptions["keys"]>, name: string) => Promise<void>): Promise<void> {
    const { keys } = this.#options;
    const { name } = this.#operation;
    if (!keys || name === undefined) return;
    try {
      await change(keys, name);
    } catch {
      // see the callers: both may fail without harm
    }
  }

  #giveUp(why: Why, detail: string): GaveUp {
    const last = this.#problem ? `; last: ${this.#problem}` : "";
    return {
      outcome: "gave_up",
      why,
      detail: detail + last,
      key: this.#key,
      attempts: this.#attempts,
      sameKeyIsSafe: !this.#unprotected && !this.#tooLate && !this.#isForgotten(),
      maybeExecuted: this.#maybeExecuted || this.#unprotected,
      lastResponse: this.#lastResponse,
    };
  }
}

function withoutUndefined<T extends object>(given: T): Partial<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
