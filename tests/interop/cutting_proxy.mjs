// A TCP proxy between an SDK and the gateway that loses answers: the gateway has the whole request, and the
// SDK's connection breaks.
import { connect, createServer } from "node:net";

export class CuttingProxy {
  statuses = []; // of the answers that were passed on
  #gateway;
  #cut; // of the next request: "answer", "half", or a promise
  #waiting = [];
  #sockets = new Set();
  #server = createServer((client) => this.#serve(client));

  static async start(gateway) {
    const proxy = new CuttingProxy();
    proxy.#gateway = gateway;
    await new Promise((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port() {
    return this.#server.address().port;
  }

  // The next request's connection is reset instead of its answer.
  cutAnswer() {
    this.#cut = "answer";
  }

  // The next request's connection ends in the middle of its answer's body.
  cutHalf() {
    this.#cut = "half";
  }

  // The next request's connection is reset when the promise is fulfilled.
  cutWhen(promise) {
    this.#cut = promise;
  }

  // Fulfilled when an answer with this status has been passed on.
  passed(status) {
    if (this.statuses.includes(status)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ status, resolve }));
  }

  async stop() {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client) {
    const gateway = connect(this.#gateway.port, "127.0.0.1");
    let cut; // what is to become of the request under way
    const reset = () => {
      client.resetAndDestroy();
      gateway.destroy();
    };
    for (const socket of [client, gateway]) {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", reset);
    }
    client.on("data", (piece) => {
      if (this.#cut) {
        cut = this.#cut;
        this.#cut = undefined;
        if (typeof cut !== "string") void cut.then(reset);
      }
      gateway.write(piece);
    });
    gateway.on("data", (piece) => {
      if (cut === "answer") return reset();
      if (cut === "half") return void client.end(piece.subarray(0, piece.length - 10), () => gateway.destroy());
      this.#note(piece);
      client.write(piece);
    });
    client.on("end", () => gateway.end());
    gateway.on("close", () => client.end());
  }

  #note(piece) {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(piece.toString("latin1"))?.[1];
    if (!status) return;
    this.statuses.push(Number(status));
    for (const waiting of this.#waiting) if (waiting.status === Number(status)) waiting.resolve();
  }
}
