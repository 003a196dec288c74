"""What a key takes up in each shared store: facts for sizing, without a promise."""

from load import BenchError
from runs import Runs

CONNECTIONS = 64
CHUNK_SECONDS = 2
PATH = "/receipts"  # answers with 300 bytes


class Footprint:
    title = "bytes per key"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, CHUNK_SECONDS, bench.report)
        self.keys = 5_000 if bench.quick else 200_000
        self.postgres, self.redis = bench.start_postgres(), bench.start_redis()
        self.done = False

    def round(self):
        if self.done:
            return
        self.done = True
        self.in_postgres()
        self.in_redis()

    def fill(self, peer, gateway):
        sent = 0
        while sent < self.keys:
            run = self.runs.measure(peer, gateway, "spread", CONNECTIONS, path=PATH)
            if not run.clean:
                raise BenchError(f"{peer}: filling it with keys went wrong: {run.errors}")
            sent += run.requests

    def in_postgres(self):
        gateway = self.bench.start_gateway(self.postgres.create_store("footprint"))
        self.fill("postgres", gateway)
        gateway.stop()

        def ask(sql):
            return int(self.postgres.run(f"SELECT {sql}", "footprint"))

        def bytes_per_key():
            table, indexes = (ask(f"{part}('oncekey.records')") / keys
                              for part in ("pg_table_size", "pg_indexes_size"))
            return f"{table + indexes:.0f} B (table {table:.0f}, indexes {indexes:.0f})"

        keys = ask("count(*) FROM oncekey.records WHERE state = 'completed'")
        body = ask("length(response_body) FROM oncekey.records LIMIT 1")
        as_left = bytes_per_key()
        self.postgres.run("VACUUM FULL oncekey.records", "footprint")
        self.bench.details["bytes per key, PostgreSQL"] = (
            f"{as_left} as the load left it, {bytes_per_key()} packed; {keys:,} completed keys, "
            f"300-byte answer kept in {body} bytes")

    def in_redis(self):
        empty = int(self.redis.info("used_memory"))
        gateway = self.bench.start_gateway(self.redis.url())
        self.fill("redis", gateway)
        gateway.stop()
        self.redis.settle()
        keys = sum(run.requests for run in self.runs.by_key["redis", "spread", CONNECTIONS])
        memory = (int(self.redis.info("used_memory")) - empty) / keys
        self.redis.command("BGREWRITEAOF")
        self.redis.settle()
        file = int(self.redis.info("aof_current_size")) / keys
        self.bench.details["bytes per key, Redis"] = (
            f"{memory:.0f} B of memory, {file:.0f} B in the append-only file when it has just been written anew; "
            f"{keys:,} completed keys, 300-byte answer, {self.redis.command('DBSIZE')} entries")

    def figures(self):
        self.runs.by_key.clear()  # they were there to fill the stores, not to be timed
        return []


STAGES = (Footprint,)
