"""Runs of several peers, side by side: measured in turn, checked against the upstream, compared."""

import statistics
import time

from figures import ratio
from load import BenchError, new_prefix, run_wrk
from servers import store_counters, upstream_requests

# Lets the last run's flushes and closing sockets finish before the next run is timed.
PAUSE_SECONDS = 1
HEADER = ["peer", "keys", "connections", "requests/s", "p50 µs", "p99 µs", "p99.9 µs", "CPU µs/request"]
REPLAYING = ("replay", "pool")


class Runs:
    """Holds the runs by (peer, mode of load.lua, connections)."""

    def __init__(self, upstream, seconds, report):
        self.upstream, self.seconds, self.report = upstream, seconds, report
        self.by_key = {}

    def measure(self, peer, server, mode, connections, prefix=None, settle=None, pause=PAUSE_SECONDS,
                **settings):
        """`settle` waits until the server is done with what earlier runs left behind."""
        if settle:
            settle()
        time.sleep(pause)
        is_gateway = server.admin is not None
        before = store_counters(server) if is_gateway else {}
        reached, cpu = upstream_requests(self.upstream), server.cpu_seconds()
        settings = {"seconds": self.seconds} | settings
        run = run_wrk(server.port, connections, mode=mode, prefix=prefix or new_prefix(), **settings)
        run.cpu_seconds = server.cpu_seconds() - cpu
        run.upstream_requests = upstream_requests(self.upstream) - reached - 1
        self.check_upstream(peer, run, is_gateway and mode in REPLAYING, connections)
        if is_gateway:
            after = store_counters(server)
            run.store = {name: after[name] - before[name] for name in after}
        return self.add(peer, mode, connections, run)

    def add(self, peer, mode, connections, run):
        self.by_key.setdefault((peer, mode, connections), []).append(run)
        latency = "" if run.p50_us is None else f"  p50 {run.p50_us:6,.0f} µs  p99 {run.p99_us:7,.0f} µs"
        cpu = "" if run.cpu_us is None else f"  CPU {run.cpu_us:5.1f} µs"
        self.report(f"{peer:8} {mode:6} {connections:3} connections: {run.rate:8,.0f}/s{latency}{cpu}"
                    + ("" if run.clean else f"  ERRORS {run.errors}"))
        return run

    def check_upstream(self, peer, run, is_replay, connections):
        """The upstream's own count must agree: each fresh request once, a replay never. What was in
        flight when wrk stopped has reached the upstream and not wrk."""
        expected = 0 if is_replay else run.requests
        surplus = run.upstream_requests - expected
        if run.clean and not 0 <= surplus <= (0 if is_replay else connections):
            raise BenchError(f"{peer} answered {run.requests} requests and the upstream saw "
                             f"{run.upstream_requests}; the figures would compare different work")

    def median(self, key, field):
        values = [getattr(run, field) for run in self.by_key[key]]
        return None if None in values else statistics.median(values)

    def rows(self):
        def cell(key, field, digits=0):
            value = self.median(key, field)
            return "-" if value is None else round(value, digits) if digits else round(value)

        return [[*key, cell(key, "rate"), cell(key, "p50_us"), cell(key, "p99_us"), cell(key, "p999_us"),
                 cell(key, "cpu_us", 1)] for key in self.by_key]

    def compare(self, what, field, ours, theirs, land, aim, higher, note=""):
        """The machine's speed drifts between rounds, so runs are compared with their neighbours: the
        figure is the median of the rounds' ratios."""
        pairs = list(zip(self.by_key[ours], self.by_key[theirs]))
        runs = [run for pair in pairs for run in pair]
        if not all(run.clean for run in runs):
            return ratio(what, 0, 1, land, aim, higher, runs)
        rounds = [getattr(a, field) / getattr(b, field) for a, b in pairs]
        a, b = self.median(ours, field), self.median(theirs, field)
        unit, digits = ("/s", 0) if field == "rate" else (" µs", 1)
        how = (f"rounds {', '.join(f'{r:.2f}' for r in rounds)}; "
               f"medians {a:,.{digits}f}{unit} and {b:,.{digits}f}{unit}")
        return ratio(what, statistics.median(rounds), 1, land, aim, higher, runs,
                     f"{how}; {note}" if note else how)

    def store_line(self, key):
        """What the store was asked to do in all runs of a key."""
        runs = self.by_key[key]
        total = {name: sum(run.store[name] for run in runs) for name in runs[0].store}
        requests = max(sum(run.requests for run in runs), 1)
        asked = f"{total['statements']:,} statements, " if total["statements"] else ""
        return (f"{requests:,} requests, {total['operations']:,} operations, {total['batches']:,} batches, "
                f"{asked}{total['syncs']:,} syncs: {total['operations'] / max(total['batches'], 1):.1f} "
                f"operations a batch, {total['syncs'] / requests:.3f} syncs a request")
