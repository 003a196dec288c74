"""The golden path: payments in one commit beside the naive way, and what the worker makes of the outbox."""

import http.client
import http.server
import json
import random
import socketserver
import statistics
import subprocess
import threading
import time

import psycopg2
from figures import Figure
from load import BenchError, Run, new_prefix
from runs import Runs
from servers import Server, free_port, upstream_requests

CLIENTS = 64
CONNECTIONS = 3  # that the clients of the library share
PAYMENTS = """
CREATE TABLE {0}payments (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL,
  amount bigint NOT NULL, currency text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
GRANT ALL ON {0}payments TO oncekey
"""
NAIVE = """
CREATE TABLE naive_keys (tenant text, key text, status text NOT NULL, response text,
  created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, key));
CREATE TABLE naive_outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, destination text NOT NULL,
  message_key text NOT NULL, payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), delivered_at timestamptz);
CREATE INDEX ON naive_outbox (id) WHERE delivered_at IS NULL;
GRANT ALL ON naive_keys, naive_outbox TO oncekey
"""
DELIVERY_SECONDS_MAX = 120
POLL_SECONDS = 0.5


def start_worker(bench, database, sink):
    admin = free_port()
    configuration = bench.place / f"worker-{admin}.toml"
    configuration.write_text(f'[worker]\ndatabase = "{database}"\nadmin = "127.0.0.1:{admin}"\n\n'
                             f'[[sink]]\nname = "provider"\nurl = "{sink}"\n\n[log]\nlevel = "warn"\n')
    command = [str(bench.program), "worker", "--config", str(configuration)]
    return bench.keep(Server("oncekey worker", command, admin, bench.place / f"worker-{admin}.log").wait_until_up())


class Payments:
    title = "payments in one commit"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres = bench.start_postgres()
        self.url = self.postgres.create_store("golden")
        for sql in (PAYMENTS.format(""), PAYMENTS.format("naive_"), NAIVE):
            self.postgres.run(sql, "golden")

    def round(self):
        self.postgres.checkpoint()
        self.runs.add("naive", "payment", CLIENTS,
                      self.postgres.pgbench("naive_payment.sql", "golden", CLIENTS, self.bench.seconds))
        self.postgres.checkpoint()
        program = self.bench.program.with_name("payment_bench")
        result = subprocess.run([str(program), self.url, str(CLIENTS), str(CONNECTIONS), str(self.bench.seconds), new_prefix()],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise BenchError(f"payment_bench: {result.stderr.strip().splitlines()[:3]}")
        done = json.loads(result.stdout)
        self.runs.add("library", "payment", CLIENTS, Run(done["payments"], done["seconds"], None, None, None, {}))

    def figures(self):
        rows = self.postgres.run("SELECT (SELECT count(*) FROM payments) || ' ' || (SELECT count(*) FROM oncekey.outbox)"
                                 " || ' ' || (SELECT count(*) FROM oncekey.records WHERE state = 'completed')", "golden")
        if len(set(rows.split())) != 1:
            raise BenchError(f"payments, messages and completed keys differ: {rows}")
        return [self.runs.compare("payments on PostgreSQL, key + row + message in one commit: throughput ÷ "
                                  "three transactions (pgbench), 64 clients", "rate",
                                  ("library", "payment", CLIENTS), ("naive", "payment", CLIENTS), 1.5, 3, True)]


class Delivery:
    title = "outbox, deliveries to an HTTP sink"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres = bench.start_postgres()
        self.url = self.postgres.create_store("outbox")
        self.messages = 20_000 if bench.quick else 100_000

    def round(self):
        self.runs.measure("nginx", self.bench.nginx, "fresh", CLIENTS)
        self.postgres.run(f"SELECT count(oncekey.enqueue('provider', '{{\"amount\":1250,\"currency\":\"EUR\"}}', "
                          f"gen_random_uuid()::text)) FROM generate_series(1, {self.messages})", "outbox")
        self.postgres.run("VACUUM ANALYZE oncekey.outbox", "outbox")
        self.postgres.checkpoint()
        before, began = upstream_requests(self.bench.upstream), time.monotonic()
        worker = start_worker(self.bench, self.url, f"http://127.0.0.1:{self.bench.upstream.port}/orders")
        # From the first tenth to the last: start and tail are not the pace.
        marks, looks, deadline = [], 0, began + DELIVERY_SECONDS_MAX
        for share in (0.1, 0.9):
            while (seen := upstream_requests(self.bench.upstream) - before - looks) < share * self.messages:
                looks += 1
                if time.monotonic() > deadline:
                    raise BenchError(f"{seen} of {self.messages} messages were delivered in {DELIVERY_SECONDS_MAX} s")
                time.sleep(0.05)
            looks += 1
            marks.append((seen, time.monotonic()))
        while self.postgres.run("SELECT count(*) FROM oncekey.outbox WHERE state = 0", "outbox") != "0":
            if time.monotonic() > deadline:
                raise BenchError("the last messages were not recorded as delivered")
            time.sleep(0.1)
        worker.stop()
        (first, at_first), (last, at_last) = marks
        self.runs.add("worker", "outbox", CLIENTS, Run(last - first, at_last - at_first, None, None, None, {}))
        self.postgres.run("TRUNCATE oncekey.outbox", "outbox")

    def figures(self):
        return [self.runs.compare(f"outbox, {self.messages:,} messages to a local HTTP sink, one worker: deliveries "
                                  "÷ nginx's throughput", "rate",
                                  ("worker", "outbox", CLIENTS), ("nginx", "fresh", CLIENTS), 0.3, 0.8, True)]


class Arrivals(http.server.BaseHTTPRequestHandler):
    """Remembers when each message key arrived first."""

    protocol_version = "HTTP/1.1"
    at = {}
    changed = threading.Condition()

    def do_POST(self):  # noqa: N802, the library's name
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.changed:
            self.at.setdefault(self.headers["Idempotency-Key"], time.monotonic())
            self.changed.notify_all()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Poller(threading.Thread):
    """What a service does without notifications: looks every half second."""

    def __init__(self, dsn, port):
        super().__init__(daemon=True)
        self.connection, self.port, self.stopping = psycopg2.connect(dsn), port, False

    def run(self):
        self.connection.autocommit = True
        cursor = self.connection.cursor()
        while not self.stopping:
            cursor.execute("UPDATE naive_outbox SET delivered_at = now() WHERE delivered_at IS NULL RETURNING message_key")
            for (key,) in cursor.fetchall():
                client = http.client.HTTPConnection("127.0.0.1", self.port)
                client.request("POST", "/", b"{}", {"Idempotency-Key": key})
                client.getresponse().read()
            time.sleep(POLL_SECONDS)


class Waking:
    title = "outbox, from commit to delivery"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres = bench.start_postgres()
        url = self.postgres.create_store("waking")
        self.postgres.run(NAIVE, "waking")
        self.dsn = f"host=127.0.0.1 port={self.postgres.port} user=postgres dbname=waking"
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Arrivals)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        bench.servers.callback(self.server.shutdown)
        port = self.server.server_address[1]
        start_worker(bench, url, f"http://127.0.0.1:{port}/")
        self.poller = Poller(self.dsn, port)
        self.poller.start()
        bench.servers.callback(lambda: setattr(self.poller, "stopping", True))
        self.writer = psycopg2.connect(self.dsn)
        self.taken = {"worker": [], "poller": []}
        self.rounds = []

    def send(self, who):
        key = new_prefix()
        cursor = self.writer.cursor()
        if who == "worker":
            cursor.execute("SELECT oncekey.enqueue('provider', '{}', %s)", (key,))
        else:
            cursor.execute("INSERT INTO naive_outbox (destination, message_key, payload) VALUES ('provider', %s, '{}')", (key,))
        self.writer.commit()
        committed = time.monotonic()
        with Arrivals.changed:
            if not Arrivals.changed.wait_for(lambda: key in Arrivals.at, timeout=30):
                raise BenchError(f"the {who} delivered nothing within 30 s")
        return max(Arrivals.at[key] - committed, 0)

    def round(self):
        found = {}
        for who, taken in self.taken.items():
            times = []
            for _ in range(5 if self.bench.quick else 25):
                time.sleep(random.uniform(0, POLL_SECONDS))
                times.append(self.send(who))
            taken += times
            found[who] = statistics.median(times)
            self.bench.report(f"{who}: p50 {found[who] * 1000:.1f} ms from commit to delivery, idle")
        self.rounds.append(found["worker"] / found["poller"])

    def figures(self):
        p50 = {who: statistics.median(taken) * 1000 for who, taken in self.taken.items()}
        return [Figure("outbox, idle: commit to delivery, p50 ÷ a 500 ms poller's", statistics.median(self.rounds),
                       0.1, 0.02, False, note=f"worker {p50['worker']:.1f} ms, poller {p50['poller']:.0f} ms")]


STAGES = (Payments, Delivery, Waking)
