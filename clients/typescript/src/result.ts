// A further attempt would get the same answer, or makes no sense before the request is corrected.
export interface Finished {
  readonly outcome: "finished";
  readonly response: Response; // its body is here already, whole
  readonly bodyCut: boolean; // it was longer than answerSizeMax
  readonly key: string;
  readonly attempts: number;
  // False: an earlier attempt may have run, and this answer (401, for example) does not tell. Only the same
  // key is safe then; the key store keeps it. True: its entry is removed.
  readonly settled: boolean;
}

export type Why =
  | "attempts" // attemptsMax
  | "deadline" // deadlineMs is over, or would be before the next attempt
  | "key_expires" // the server will have forgotten the key before the next attempt
  | "unprotected" // executed without a record (Idempotency-Protected: false): it would run again
  | "aborted" // by the signal
  | "key_store" // the key could not be kept or read, so nothing was sent
  | "invalid"; // the request cannot be sent, or not repeated; nothing was

export interface GaveUp {
  readonly outcome: "gave_up";
  readonly why: Why;
  readonly detail: string; // a sentence for a log, with what went wrong last
  readonly key: string;
  readonly attempts: number;
  readonly sameKeyIsSafe: boolean; // a retry with the same key now cannot run the operation twice
  readonly maybeExecuted: boolean; // an attempt, of this run or one before, may have run
  readonly lastResponse: Response | undefined;
}

export type Result = Finished | GaveUp;

// What Client.fetch throws instead of returning GaveUp.
export class GaveUpError extends Error {
  readonly gaveUp: GaveUp;

  constructor(gaveUp: GaveUp) {
    super(`${gaveUp.detail} (${gaveUp.why}, ${gaveUp.sameKeyIsSafe ? "same key is safe" : "same key is not safe"})`);
    this.name = "GaveUpError";
    this.gaveUp = gaveUp;
  }
}
