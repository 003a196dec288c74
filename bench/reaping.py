"""What reaping costs those who are being served meanwhile: the same load before a million records are
past their retention, and while they are being removed."""

import time

from load import BenchError, check_answer
from runs import Runs

CONNECTIONS = 64
# Each connection pauses this long between requests, on average: a load that leaves the machine room,
# because at full load every process that works at all is paid for with waiting.
THINK_MS = 20
# Rows like the gateway's own, in the order of nobody's keys.
EXPIRING = """
INSERT INTO oncekey.records
  (created_at, due_at, shelf_until, completed_at, fence, retention_ms, tombstone_ms, state, attempt, response_status,
   response_schema, response_encoding, scope, key, fingerprint, method, path, owner, response_headers,
   response_body)
SELECT timestamptz '{due}' - interval '1 day', '{due}', '{due}', timestamptz '{due}' - interval '1 day',
       oncekey.new_fence(), 86400000, 0, 'completed', 1, model.response_status, model.response_schema,
       model.response_encoding, model.scope, gen_random_uuid()::text, model.fingerprint, model.method,
       model.path, model.owner, model.response_headers, model.response_body
FROM generate_series(1, {rows}),
     (SELECT * FROM oncekey.records WHERE state = 'completed' LIMIT 1) AS model
"""
# Of the run before the reaping: about as long as that takes. What stalls a server now and then (the system writes
# back what has been dirty for 30 s, a checkpoint) must be able to happen in both.
WINDOW_SECONDS = 90
# Between the insertion's start and the moment the rows expire, beside the run that comes first.
PREPARE_SECONDS = {True: 30, False: 120}
START_SECONDS_MAX = 30
REAP_SECONDS_MAX = 900


class Reaping:
    title = "PostgreSQL, reaping"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.rows = 50_000 if bench.quick else 1_000_000
        self.window = bench.seconds if bench.quick else max(WINDOW_SECONDS, bench.seconds)
        self.postgres = bench.start_postgres()
        self.gateway = bench.start_gateway(self.postgres.create_store("reaping"))
        check_answer("oncekey on PostgreSQL", self.gateway.port, bench.upstream.port)
        self.took, self.covered = [], []

    def count(self, sql):
        return int(self.postgres.run(f"SELECT {sql}", "reaping"))

    def removed(self):
        """As far as the server's statistics have come; they are a second late."""
        return self.count("n_tup_del FROM pg_stat_user_tables WHERE relname = 'records'")

    def expiring(self, due):
        return self.count(f"count(*) FROM oncekey.records WHERE due_at = '{due}'")

    def prepare(self):
        """The rows, and the moment from which they are past their retention."""
        lead = PREPARE_SECONDS[self.bench.quick] + self.window
        due = self.postgres.run(f"SELECT date_trunc('second', now() + interval '{lead} s')")
        self.postgres.run(EXPIRING.format(due=due, rows=self.rows), "reaping")
        self.postgres.run("VACUUM ANALYZE oncekey.records", "reaping")
        self.postgres.checkpoint()
        return due

    def seconds_until(self, due):
        return float(self.postgres.run(f"SELECT extract(epoch FROM timestamptz '{due}' - clock_timestamp())"))

    def load(self, peer, seconds, removed_max):
        """The statistics are read every second in both runs, so that both pay for it."""
        return self.runs.measure(peer, self.gateway, "spread", CONNECTIONS, think_ms=THINK_MS, pause=0,
                                 seconds=seconds, ended=lambda: self.removed() >= removed_max)

    def round(self):
        due = self.prepare()
        before = self.removed()
        self.load("idle", self.window, before + self.rows)
        if self.seconds_until(due) < 0 or self.removed() != before:
            raise BenchError(f"{self.rows:,} rows took so long to write that they expired before the first run "
                             "was over")
        time.sleep(max(0.0, self.seconds_until(due)))
        self.await_reaper(before)
        began = time.monotonic()
        self.load("reaping", REAP_SECONDS_MAX, before + self.rows)
        self.took.append(time.monotonic() - began)
        left = self.expiring(due)
        if left > 0:
            raise BenchError(f"{left:,} of {self.rows:,} expired rows were left after {REAP_SECONDS_MAX} s")

    def await_reaper(self, before):
        """The measured run must lie within the reaping, so it starts when that has begun."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while self.removed() == before:
            if time.monotonic() > deadline:
                raise BenchError(f"nothing was reaped within {START_SECONDS_MAX} s")
            time.sleep(0.05)
        self.covered.append(1 - (self.removed() - before) / self.rows)

    def figures(self):
        rate = self.runs.median(("reaping", "spread", CONNECTIONS), "rate")
        took = ", ".join(f"{seconds:.0f} s" for seconds in self.took)
        self.bench.details[f"reaping {self.rows:,} records under load, measured part"] = (
            f"{took}; {min(self.covered) * 100:.0f} % of the rows were still there when the measured run began")
        return [self.runs.compare(
            f"PostgreSQL, reaping {self.rows:,} expired keys: p99 ÷ before, {rate:,.0f} requests/s, 64 connections",
            "p99_us", ("reaping", "spread", CONNECTIONS), ("idle", "spread", CONNECTIONS), 2, 1.2, False,
            f"reaped in {took}")]


STAGES = (Reaping,)
