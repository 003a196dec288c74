// A payment API that does what each test tells it, and keeps two logs: what arrived, and what was executed.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

export class FakeApi {
  arrivals = []; // { key, attempt, body }
  executions = []; // { id, key, body }
  #steps = [];
  #waiting = [];
  #server = createServer((request, response) => void this.#serve(request, response));

  // One step for each request to come; then all are executed and answered. A step:
  //   cut: "before" | "after"   no answer, before or after it is executed
  //   status, executes, headers an error, before or after it is executed
  //   until                     a promise that the answer waits for, once executed
  static async start(...steps) {
    const api = new FakeApi();
    api.#steps = steps;
    await new Promise((resolve) => api.#server.listen(0, "127.0.0.1", resolve));
    return api;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  // Fulfilled when this many have been executed.
  executed(count) {
    if (this.executions.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request, response) {
    if (request.method === "GET") return this.#lookUp(request, response);
    const body = await text(request);
    const key = request.headers["idempotency-key"];
    this.arrivals.push({ key, attempt: request.headers["idempotency-attempt"], body });
    const step = this.#steps.shift() ?? {};
    const executes = step.executes ?? (step.cut !== "before" && step.status === undefined);
    const payment = executes ? this.#execute(key, body) : undefined;
    await step.until;
    if (step.cut) return void request.socket.destroy();
    if (step.status) return answer(response, step.status, errorBody(this.arrivals.length), step.headers);
    answer(response, 200, payment);
  }

  #execute(key, body) {
    const payment = { id: `pay_${this.executions.length + 1}`, object: "payment", amount: 1250 };
    this.executions.push({ ...payment, key, body });
    for (const { count, resolve } of this.#waiting) if (this.executions.length >= count) resolve();
    return payment;
  }

  // What the gateway's probe asks: /payments?key=KEY
  #lookUp(request, response) {
    const key = new URL(request.url, this.url).searchParams.get("key");
    const found = this.executions.find((execution) => execution.key === key);
    if (!found) return answer(response, 404, errorBody(0));
    const { id, object, amount } = found;
    answer(response, 200, { id, object, amount });
  }
}

function errorBody(arrival) {
  return { error: { type: "api_error", message: `failure ${arrival}` } };
}

function answer(response, status, body, headers = {}) {
  if (response.socket.destroyed) return;
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}
