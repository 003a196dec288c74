"""The part of the bench that sends requests: the gateway beside nginx, in alternating runs."""

import http.client
import statistics
import time

from disk import append_sync_us
from figures import ratio
from load import BODY, KEYS_REPLAYED, BenchError, new_prefix, replayed_key, run_wrk
from servers import store_counters, upstream_requests

CONNECTIONS = (256, 64)
# Lets the last run's flushes and closing sockets finish before the next run is timed.
PAUSE_SECONDS = 1


class Proxying:
    """Holds the runs by (peer, workload, connections); figures are medians over the rounds."""

    def __init__(self, upstream, nginx, gateway, folder, seconds, report):
        self.upstream, self.nginx, self.gateway = upstream, nginx, gateway
        self.folder, self.seconds, self.report = folder, seconds, report
        self.runs, self.syncs_us, self.commits = {}, [], {}
        self.replay_prefix = new_prefix()

    def peers(self):
        return [("nginx", self.nginx)] + ([("oncekey", self.gateway)] if self.gateway else [])

    def prepare(self):
        for name, server in self.peers():
            check_answer(name, server.port, self.upstream.port)
        if self.gateway:
            fill(self.gateway.port, self.replay_prefix)

    def round(self):
        for connections in CONNECTIONS:
            for name, server in self.peers():
                self.measure(name, server, "fresh", connections)
        for name, server in self.peers():
            self.measure(name, server, "replay", CONNECTIONS[0])
        self.syncs_us.append(append_sync_us(self.folder))
        self.measure("upstream", self.upstream, "fresh", 1)
        for name, server in self.peers():
            self.measure(name, server, "fresh", 1)
        self.syncs_us.append(append_sync_us(self.folder))

    def measure(self, name, server, mode, connections):
        time.sleep(PAUSE_SECONDS)
        is_gateway = server is self.gateway
        counters = store_counters(server) if is_gateway else None
        reached, cpu = upstream_requests(self.upstream), server.cpu_seconds()
        prefix = self.replay_prefix if mode == "replay" else new_prefix()
        run = run_wrk(server.port, connections, self.seconds, mode, prefix)
        run.cpu_seconds = server.cpu_seconds() - cpu
        run.upstream_requests = upstream_requests(self.upstream) - reached - 1
        self.check_upstream(name, run, is_gateway and mode == "replay", connections)
        if is_gateway:
            after = store_counters(server)
            self.commits.setdefault((mode, connections), []).append(
                {key: after[key] - counters[key] for key in after})
        self.runs.setdefault((name, mode, connections), []).append(run)
        self.report(f"{name:8} {mode:6} {connections:3} connections: {run.rate:8,.0f}/s  "
                    f"p50 {run.p50_us:6,.0f} µs  p99 {run.p99_us:7,.0f} µs  CPU {run.cpu_us:5.1f} µs"
                    + ("" if run.clean else f"  ERRORS {run.errors}"))

    def check_upstream(self, name, run, is_replay, connections):
        """The upstream's own count must agree: each fresh request once, a replay never. What was in
        flight when wrk stopped has reached the upstream and not wrk."""
        expected = 0 if is_replay else run.requests
        surplus = run.upstream_requests - expected
        if run.clean and not 0 <= surplus <= (0 if is_replay else connections):
            raise BenchError(f"{name} answered {run.requests} requests and the upstream saw "
                             f"{run.upstream_requests}; the figures would compare different work")

    def median(self, key, field):
        return statistics.median(getattr(run, field) for run in self.runs[key])

    def table(self):
        header = ["peer", "keys", "connections", "requests/s", "p50 µs", "p99 µs", "p99.9 µs", "CPU µs/request"]
        rows = [[*key, round(self.median(key, "rate")), round(self.median(key, "p50_us")),
                 round(self.median(key, "p99_us")), round(self.median(key, "p999_us")),
                 round(self.median(key, "cpu_us"), 1)] for key in self.runs]
        return header, rows

    def details(self):
        lines = {"one sync (append 4 KiB, fdatasync), p50": f"{statistics.median(self.syncs_us):.0f} µs"}
        for (mode, connections), deltas in self.commits.items():
            total = {key: sum(delta[key] for delta in deltas) for key in deltas[0]}
            batches = max(total["batches"], 1)
            requests = sum(run.requests for run in self.runs["oncekey", mode, connections])
            lines[f"store, {mode} keys, {connections} connections"] = (
                f"{requests:,} requests, {total['operations']:,} operations, {total['batches']:,} batches, "
                f"{total['syncs']:,} syncs: {total['operations'] / batches:.1f} operations a batch, "
                f"{total['syncs'] / max(requests, 1):.3f} syncs a request")
        return lines

    def check_syncs(self):
        """Durable means synced: one request at a time cannot share a sync, so each needs two."""
        requests = sum(run.requests for run in self.runs["oncekey", "fresh", 1])
        syncs = sum(delta["syncs"] for delta in self.commits["fresh", 1])
        if syncs < 2 * requests:
            raise BenchError(f"{requests:,} requests, one at a time, made {syncs:,} syncs; "
                             "strict settings need two for each, so no figure here would be true")

    def figures(self):
        self.check_syncs()

        def compare(what, field, mode, connections, land, aim, higher):
            ours, theirs = ("oncekey", mode, connections), ("nginx", mode, connections)
            # The machine's speed drifts between rounds, so runs are compared with their neighbours:
            # the figure is the median of the rounds' ratios.
            rounds = [getattr(a, field) / getattr(b, field)
                      for a, b in zip(self.runs[ours], self.runs[theirs])]
            a, b = self.median(ours, field), self.median(theirs, field)
            unit, digits = ("/s", 0) if field == "rate" else (" µs", 1)
            note = (f"rounds {', '.join(f'{r:.2f}' for r in rounds)}; "
                    f"medians {a:,.{digits}f}{unit} and {b:,.{digits}f}{unit}")
            return ratio(what, statistics.median(rounds), 1, land, aim, higher,
                         self.runs[ours] + self.runs[theirs], note)

        return [
            compare("fresh keys, 256 connections: throughput ÷ nginx", "rate", "fresh", 256, 0.6, 1.0, True),
            compare("fresh keys, 64 connections: throughput ÷ nginx", "rate", "fresh", 64, 0.45, 0.9, True),
            self.added_latency(),
            compare("CPU per fresh request ÷ nginx's, 256 connections", "cpu_us", "fresh", 256, 2.0, 1.3, False),
            compare("replays, 256 connections: throughput ÷ nginx", "rate", "replay", 256, 1.3, 2, True),
        ]

    def added_latency(self):
        ours, alone = ("oncekey", "fresh", 1), ("upstream", "fresh", 1)
        added = self.median(ours, "p50_us") - self.median(alone, "p50_us")
        sync = statistics.median(self.syncs_us)
        return ratio("one at a time: latency added ÷ two syncs", added, 2 * sync, 1.6, 1.2, False,
                     self.runs[ours] + self.runs[alone], f"{added:.0f} µs ÷ (2 × {sync:.0f} µs), p50")


def post(connection, key):
    connection.request("POST", "/orders", BODY, {"Content-Type": "application/json", "Idempotency-Key": key})
    response = connection.getresponse()
    return response.status, response.read(), response.headers


def check_answer(name, port, upstream_port):
    """Both peers must give the upstream's answer before they are timed."""
    answers = []
    for where in (upstream_port, port):
        connection = http.client.HTTPConnection("127.0.0.1", where, timeout=10)
        answers.append(post(connection, new_prefix())[:2])
        connection.close()
    if answers[0] != answers[1] or answers[0][0] != 201:
        raise BenchError(f"{name} answered {answers[1]}, the upstream {answers[0]}")


def fill(port, prefix):
    """Sends each key of the replay runs once, then checks that one of them replays."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for number in range(KEYS_REPLAYED):
        status, _, _ = post(connection, replayed_key(prefix, number))
        if status != 201:
            raise BenchError(f"filling the replay keys: status {status}")
    status, _, headers = post(connection, replayed_key(prefix, 0))
    connection.close()
    if status != 201 or headers.get("Idempotency-Replayed") != "true":
        raise BenchError(f"a retry was not replayed: status {status}")
