// A real server that gives a list of answers, the last one again and again, and remembers what it was asked.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface ListedAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  // reset: no answer; cut: half a body; silence: the connection stays, and nothing comes
  way?: "reset" | "cut" | "silence";
}

export interface SeenRequest {
  method: string;
  target: string;
  headers: IncomingHttpHeaders;
  body: string;
}

// Instead of a list: what to answer to the last of these.
export type AnswerChoice = (requests: SeenRequest[]) => ListedAnswer;

export class ListedAnswers {
  readonly requests: SeenRequest[] = [];
  readonly #choose: AnswerChoice;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #onRequest: () => void = () => undefined;

  private constructor(answers: ListedAnswer[] | AnswerChoice) {
    this.#choose = typeof answers === "function" ? answers : ({ length }) => answers[Math.min(length, answers.length) - 1]!;
  }

  static async start(answers: ListedAnswer[] | AnswerChoice): Promise<ListedAnswers> {
    const server = new ListedAnswers(answers);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  // Fulfilled at the next request.
  asked(): Promise<void> {
    return new Promise((resolve) => (this.#onRequest = resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { method = "", url: target = "", headers } = request;
    this.requests.push({ method, target, headers, body: Buffer.concat(pieces).toString() });
    this.#give(this.#choose(this.requests), response, request.socket);
    this.#onRequest();
  }

  #give(listed: ListedAnswer, response: ServerResponse, socket: Socket): void {
    const body = listed.body ?? "{}";
    response.sendDate = false; // the table's clock is not this machine's
    response.statusCode = listed.status ?? 200;
    for (const [name, value] of Object.entries(listed.headers ?? {})) response.setHeader(name, value);
    switch (listed.way) {
      case "reset":
        socket.resetAndDestroy();
        return;
      case "silence":
        return;
      case "cut":
        response.setHeader("Content-Length", body.length);
        response.write(body.slice(0, body.length / 2), () => socket.destroy());
        return;
      case undefined:
        response.end(body);
    }
  }
}
