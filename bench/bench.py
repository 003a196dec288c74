"""What the parts of the bench share: the servers they start, and the stages they run in rounds."""

import contextlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from databases import Postgres, Redis
from figures import Figure
from load import BenchError
from servers import start_gateway, start_nginx

REASON_LENGTH_MAX = 200  # in the table; all of it is printed when it happens


@dataclass
class Bench:
    """A stage is made with the bench, which starts its servers; then come its rounds, then its figures."""

    program: Path
    folder: Path
    seconds: int
    rounds: int
    quick: bool
    report: object
    details: dict = field(default_factory=dict)
    setting: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    upstream: object = None
    nginx: object = None
    servers: contextlib.ExitStack = None
    place: Path = None  # the running stage's own folder

    def keep(self, server):
        self.servers.callback(server.stop)
        return server

    def start_postgres(self, *settings):
        postgres = self.keep(Postgres(self.place / "postgres", self.program, settings))
        if not settings:
            self.setting["PostgreSQL"] = f"{postgres.describe()}; the rest as initdb leaves it"
        return postgres

    def start_redis(self):
        redis = self.keep(Redis(self.place / "redis"))
        self.setting["Redis"] = redis.describe()
        return redis

    def start_gateway(self, store, **environment):
        return self.keep(start_gateway(self.program, store, self.upstream.port, self.place, **environment))

    def run_stages(self, stages):
        """A stage that cannot be measured is a figure without a value; the others are measured."""
        found = []
        for stage in stages:
            print(f"==> {stage.title}", flush=True)
            try:
                found += self.run_stage(stage)
            except BenchError as error:
                self.report(f"not measured: {error}")
                reason = " ".join(str(error).split())[:REASON_LENGTH_MAX]
                found.append(Figure(stage.title, None, None, None, True, note=f"not measured: {reason}"))
        return found

    def run_stage(self, stage):
        self.place = Path(tempfile.mkdtemp(dir=self.folder))
        self.place.chmod(0o711)  # PostgreSQL runs as another user
        with contextlib.ExitStack() as self.servers:
            self.servers.callback(shutil.rmtree, self.place, ignore_errors=True)
            self.upstream = self.keep(start_nginx("upstream", self.place))
            self.nginx = self.keep(start_nginx("proxy", self.place, UPSTREAM_PORT=self.upstream.port))
            running = stage(self)
            for number in range(self.rounds):
                self.report(f"round {number + 1} of {self.rounds}")
                running.round()
            found = running.figures()
            self.rows += running.runs.rows()
            return found
