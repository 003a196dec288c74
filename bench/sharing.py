"""The stores that many nodes share: the gateway on PostgreSQL, on Redis and on both, each beside the
peer that says what its speed is worth."""

import statistics

from figures import Figure, ratio
from load import BenchError, check_answer, new_prefix, send_each
from runs import Runs

CLIENTS = 64
CONNECTIONS_PROXY = (256, 64)  # as the embedded store beside nginx
NAIVE_TABLE = """
CREATE TABLE keys (tenant text NOT NULL, key text NOT NULL, status text NOT NULL, response text,
                   PRIMARY KEY (tenant, key));
ALTER TABLE keys OWNER TO oncekey;
"""
# Of the gateway's and the server's count of statements: scraping the metrics sends some as well.
COUNTS_DIFFER_MAX = 0.02


class OnPostgres:
    """Fresh keys on PostgreSQL beside pgbench, which does for each key what a service without a
    gateway would do: insert it, then update it, each in a transaction of its own."""

    title = "PostgreSQL, fresh keys"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres = bench.start_postgres()
        self.gateway = bench.start_gateway(self.postgres.create_store("fresh"))
        check_answer("oncekey on PostgreSQL", self.gateway.port, bench.upstream.port)
        self.postgres.create("naive")
        self.postgres.run(NAIVE_TABLE, "naive")
        self.response = "x" * self.response_bytes()
        bench.setting["naive way"] = (
            f"pgbench alone on the same server, {CLIENTS} clients, prepared statements, loopback as the gateway: for "
            "each random key one INSERT … ON CONFLICT DO NOTHING and one UPDATE, each a transaction of its own, "
            f"{len(self.response)} bytes of response, which is what the gateway keeps")

    def response_bytes(self):
        """What the gateway keeps of the upstream's answer."""
        return int(self.postgres.run("SELECT pg_column_size(response_headers) + pg_column_size(response_body)"
                                     " FROM oncekey.records LIMIT 1", "fresh"))

    def round(self):
        self.postgres.checkpoint()
        self.runs.add("pgbench", "random", CLIENTS, self.naive())
        for connections in CONNECTIONS_PROXY:
            self.runs.measure("postgres", self.gateway, "spread", connections, settle=self.postgres.checkpoint)

    def naive(self):
        count = "SELECT count(*) FROM keys WHERE status = 'completed' AND response IS NOT NULL"
        before = int(self.postgres.run(count, "naive"))
        run = self.postgres.pgbench("naive.sql", "naive", CLIENTS, self.bench.seconds, response=self.response)
        written = int(self.postgres.run(count, "naive")) - before
        if not 0 <= written - run.requests <= CLIENTS:
            raise BenchError(f"pgbench counted {run.requests} pairs and its table has {written} more rows")
        return run

    def figures(self):
        found = []
        for connections in CONNECTIONS_PROXY:
            ours = ("postgres", "spread", connections)
            self.bench.details[f"store, PostgreSQL, fresh keys, {connections} connections"] = self.runs.store_line(ours)
            found.append(self.runs.compare(
                f"PostgreSQL, fresh keys, {connections} connections: throughput ÷ INSERT and UPDATE by pgbench, "
                f"{CLIENTS} clients", "rate", ours, ("pgbench", "random", CLIENTS), 2, 3.5, True,
                f"tables {self.size('oncekey.records', 'fresh')} and {self.size('keys', 'naive')} at the end"))
        return found

    def size(self, table, database):
        return self.postgres.run(f"SELECT pg_size_pretty(pg_total_relation_size('{table}'))", database)


class Statements:
    """Counted by the server itself, on one that has its counting module loaded; the speed of this one
    is of no interest."""

    title = "PostgreSQL, statements"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres = bench.start_postgres("shared_preload_libraries=pg_stat_statements")
        self.postgres.run("CREATE EXTENSION pg_stat_statements")
        self.gateway = bench.start_gateway(self.postgres.create_store("counted"))
        check_answer("oncekey on PostgreSQL", self.gateway.port, bench.upstream.port)
        self.counted = []

    def calls(self):
        """All that the gateway sent, begin and commit included, and its background work."""
        return int(self.postgres.run(
            "SELECT coalesce(sum(s.calls), 0) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid"
            " WHERE r.rolname = 'oncekey' AND s.toplevel"))

    def round(self):
        self.postgres.checkpoint()
        before = self.calls()
        self.runs.measure("counted", self.gateway, "spread", CLIENTS)
        self.counted.append(self.calls() - before)

    def figures(self):
        runs = self.runs.by_key["counted", "spread", CLIENTS]
        requests, counted = sum(run.requests for run in runs), sum(self.counted)
        own = sum(run.store["statements"] for run in runs)
        what = "PostgreSQL, fresh keys, 64 connections: statements per request"
        if abs(counted - own) > COUNTS_DIFFER_MAX * counted + 50:
            return [Figure(what, None, 0.2, 0.05, False,
                           note=f"refused: the server counted {counted:,} statements, the gateway {own:,}")]
        each = [calls / run.requests for calls, run in zip(self.counted, runs) if run.requests]
        return [ratio(what, statistics.median(each) if each else 0, 1, 0.2, 0.05, False, runs,
                      f"pg_stat_statements: {counted:,} statements for {requests:,} requests; "
                      f"the gateway's own count {own:,}")]


class OnRedis:
    title = "Redis, fresh keys"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.redis = bench.start_redis()
        self.gateway = bench.start_gateway(self.redis.url())
        check_answer("oncekey on Redis", self.gateway.port, bench.upstream.port)

    def round(self):
        for connections in CONNECTIONS_PROXY:
            self.runs.measure("nginx", self.bench.nginx, "fresh", connections, settle=self.redis.settle)
            self.runs.measure("redis", self.gateway, "fresh", connections, settle=self.redis.settle)

    def figures(self):
        found = []
        for connections in CONNECTIONS_PROXY:
            ours = ("redis", "fresh", connections)
            self.bench.details[f"store, Redis, fresh keys, {connections} connections"] = self.runs.store_line(ours)
            found.append(self.runs.compare(
                f"Redis (everysec), fresh keys, {connections} connections: throughput ÷ nginx",
                "rate", ours, ("nginx", "fresh", connections), 0.5, 0.9, True))
        return found


class Tiered:
    """The same records, replayed by a gateway that has only PostgreSQL and by one with Redis before it.
    Neither may keep answers in its own memory."""

    title = "PostgreSQL with Redis before it, replays"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.postgres, redis = bench.start_postgres(), bench.start_redis()
        url = self.postgres.create_store("replays")
        self.alone = bench.start_gateway(url, ONCEKEY_REPLAY_CACHE="0")
        self.tiered = bench.start_gateway(f"{url}+{redis.url()}", ONCEKEY_REPLAY_CACHE="0")
        self.keys, self.prefix = 2_000 if bench.quick else 20_000, new_prefix()
        bench.report(f"{self.keys:,} keys, sent once and replayed once by each gateway")
        send_each(self.tiered.port, self.prefix, self.keys, replayed=False)
        for gateway in (self.tiered, self.alone):
            send_each(gateway.port, self.prefix, self.keys, replayed=True)
        # Settles what was written, so that replays meet the table as it is from then on.
        self.postgres.run("VACUUM ANALYZE oncekey.records", "replays")
        self.postgres.checkpoint()

    def round(self):
        for name, gateway in (("postgres", self.alone), ("tiered", self.tiered)):
            self.runs.measure(name, gateway, "pool", CLIENTS, self.prefix, keys=self.keys)

    def figures(self):
        for name in ("postgres", "tiered"):
            self.bench.details[f"store, {name}, replays of {self.keys:,} keys, 64 connections"] = (
                self.runs.store_line((name, "pool", CLIENTS)))
        return [self.runs.compare(
            "PostgreSQL + Redis, replays, 64 connections, no cache in the gateway: throughput ÷ PostgreSQL alone",
            "rate", ("tiered", "pool", CLIENTS), ("postgres", "pool", CLIENTS), 1.2, 2, True,
            f"{self.keys:,} keys at random")]


STAGES = (OnPostgres, Statements, OnRedis, Tiered)
