"""Good traffic's latency while thousands of connections do nothing and hundreds do it slowly."""

import resource
import selectors
import socket
import threading

from load import BenchError, check_answer
from runs import Runs

CONNECTIONS, THINK_MS = 32, 10
IDLE, SLOW = 5_000, 300
BETWEEN_BYTES_SECONDS = 0.5
REQUEST = b"GET /.well-known/idempotency HTTP/1.1\r\nHost: here\r\n\r\n"
SLOW_HEAD = b"POST /orders HTTP/1.1\r\nHost: here\r\nX-Padding: " + b"x" * 4096


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


class Crowd:
    """Idle connections have had an answer and stay open; slow ones send their head byte by byte, and
    come again when they are cut off."""

    def __init__(self, port):
        self.port, self.stopping = port, threading.Event()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 3 * IDLE)), hard))
        self.idle = [self.answered() for _ in range(IDLE)]
        self.slow = [connect(port) for _ in range(SLOW)]
        self.thread = threading.Thread(target=self.trickle)
        self.thread.start()

    def answered(self):
        connection = connect(self.port)
        connection.sendall(REQUEST)
        if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
            raise BenchError("an idle connection did not get its answer")
        return connection

    def trickle(self):
        sent = 0
        while not self.stopping.wait(BETWEEN_BYTES_SECONDS):
            for number, connection in enumerate(self.slow):
                try:
                    connection.sendall(SLOW_HEAD[sent % len(SLOW_HEAD):][:1])
                except OSError:
                    connection.close()
                    self.slow[number] = connect(self.port)
            sent += 1

    def still_open(self):
        """Of the idle ones: nothing to read means that they were not closed."""
        with selectors.DefaultSelector() as selector:
            for connection in self.idle:
                selector.register(connection, selectors.EVENT_READ)
            return IDLE - len(selector.select(0))

    def leave(self):
        self.stopping.set()
        self.thread.join()
        for connection in self.idle + self.slow:
            connection.close()


class Crowded:
    title = "good traffic among idle and slow connections"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.gateway = bench.start_gateway(f"rocksdb:{bench.place / 'data'}")
        check_answer("oncekey", self.gateway.port, bench.upstream.port)
        self.open_at_end = []

    def round(self):
        self.runs.measure("alone", self.gateway, "fresh", CONNECTIONS, think_ms=THINK_MS)
        crowd = Crowd(self.gateway.port)
        try:
            self.runs.measure("crowded", self.gateway, "fresh", CONNECTIONS, think_ms=THINK_MS)
            self.open_at_end.append(crowd.still_open())
        finally:
            crowd.leave()

    def figures(self):
        if min(self.open_at_end) < 0.99 * IDLE:
            raise BenchError(f"only {min(self.open_at_end)} of {IDLE} idle connections stayed open")
        return [self.runs.compare(
            f"{IDLE:,} idle and {SLOW} slow connections: p99 of good traffic ÷ without them", "p99_us",
            ("crowded", "fresh", CONNECTIONS), ("alone", "fresh", CONNECTIONS), 2, 1.2, False,
            f"{CONNECTIONS} connections that pause {THINK_MS} ms on average between requests")]
