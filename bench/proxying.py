"""The part of the bench that needs no server but nginx: the gateway on its embedded store beside it."""

import statistics

from disk import append_sync_us
from figures import ratio
from load import KEYS_REPLAYED, BenchError, check_answer, new_prefix, send_each
from runs import Runs

CONNECTIONS = (256, 64)


class Proxying:
    """Figures are medians over the rounds."""

    def __init__(self, upstream, nginx, gateway, folder, seconds, report):
        self.upstream, self.nginx, self.gateway, self.folder = upstream, nginx, gateway, folder
        self.runs, self.syncs_us = Runs(upstream, seconds, report), []
        self.replay_prefix = new_prefix()

    def peers(self):
        return [("nginx", self.nginx)] + ([("oncekey", self.gateway)] if self.gateway else [])

    def prepare(self):
        for name, server in self.peers():
            check_answer(name, server.port, self.upstream.port)
        if self.gateway:
            send_each(self.gateway.port, self.replay_prefix, KEYS_REPLAYED, replayed=False)
            send_each(self.gateway.port, self.replay_prefix, KEYS_REPLAYED, replayed=True)

    def round(self):
        for connections in CONNECTIONS:
            for name, server in self.peers():
                self.runs.measure(name, server, "fresh", connections)
        for name, server in self.peers():
            self.runs.measure(name, server, "replay", CONNECTIONS[0], self.replay_prefix, keys=KEYS_REPLAYED)
        self.syncs_us.append(append_sync_us(self.folder))
        self.runs.measure("upstream", self.upstream, "fresh", 1)
        for name, server in self.peers():
            self.runs.measure(name, server, "fresh", 1)
        self.syncs_us.append(append_sync_us(self.folder))

    def details(self):
        lines = {"one sync (append 4 KiB, fdatasync), p50": f"{statistics.median(self.syncs_us):.0f} µs"}
        for key in self.runs.by_key:
            peer, mode, connections = key
            if peer == "oncekey":
                lines[f"store, {mode} keys, {connections} connections"] = self.runs.store_line(key)
        return lines

    def check_syncs(self):
        """Durable means synced: one request at a time cannot share a sync, so each needs two."""
        runs = self.runs.by_key["oncekey", "fresh", 1]
        requests, syncs = sum(run.requests for run in runs), sum(run.store["syncs"] for run in runs)
        if syncs < 2 * requests:
            raise BenchError(f"{requests:,} requests, one at a time, made {syncs:,} syncs; "
                             "strict settings need two for each, so no figure here would be true")

    def figures(self):
        self.check_syncs()

        def compare(what, field, mode, connections, land, aim, higher):
            return self.runs.compare(what, field, ("oncekey", mode, connections), ("nginx", mode, connections),
                                     land, aim, higher)

        return [
            compare("fresh keys, 256 connections: throughput ÷ nginx", "rate", "fresh", 256, 0.6, 1.0, True),
            compare("fresh keys, 64 connections: throughput ÷ nginx", "rate", "fresh", 64, 0.45, 0.9, True),
            self.added_latency(),
            compare("CPU per fresh request ÷ nginx's, 256 connections", "cpu_us", "fresh", 256, 2.0, 1.3, False),
            compare("replays, 256 connections: throughput ÷ nginx", "rate", "replay", 256, 1.3, 2, True),
        ]

    def added_latency(self):
        ours, alone = ("oncekey", "fresh", 1), ("upstream", "fresh", 1)
        added = self.runs.median(ours, "p50_us") - self.runs.median(alone, "p50_us")
        sync = statistics.median(self.syncs_us)
        return ratio("one at a time: latency added ÷ two syncs", added, 2 * sync, 1.6, 1.2, False,
                     self.runs.by_key[ours] + self.runs.by_key[alone], f"{added:.0f} µs ÷ (2 × {sync:.0f} µs), p50")
