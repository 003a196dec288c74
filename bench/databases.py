"""PostgreSQL and Redis as Debian ships them, each started in a folder of its own."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from load import BenchError, Run
from servers import HERE, Server, free_port

# PostgreSQL refuses to run as root, so a bench that does runs it as the package's own user.
UNPRIVILEGED = "postgres"
REWRITE_SECONDS_MAX = 120
# As much as the two processors can use beside the server.
PGBENCH_THREADS = 2


def run_program(command, what):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise BenchError(f"{what}: {' / '.join(lines[:3])}")
    return result.stdout


def postgres_program(name):
    versions = [path for path in Path("/usr/lib/postgresql").glob("[0-9]*") if (path / "bin" / name).exists()]
    if not versions:
        raise BenchError(f"PostgreSQL's {name} is not in /usr/lib/postgresql/*/bin")
    return str(max(versions, key=lambda path: int(path.name)) / "bin" / name)


def as_ordinary_user(command):
    """The end of the bench ends the server. Its own folder is left first: the user may not enter it."""
    if os.geteuid() != 0:
        return command
    return ["/usr/bin/env", "--chdir=/", "setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}",
            "--init-groups", "--pdeathsig=QUIT", "--", *command]


class Postgres(Server):
    """Nothing is configured but where it listens, and `settings`. Data checksums, sizes, checkpoints,
    autovacuum: all as initdb leaves them."""

    def __init__(self, folder, program, settings=()):
        self.oncekey = program
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
            self.check_reachable(folder)
        data = folder / "data"
        run_program(as_ordinary_user([postgres_program("initdb"), f"--pgdata={data}", "--username=postgres",
                                      "--auth=trust", "--encoding=UTF8", "--locale=C"]), "initdb")
        port = free_port()
        command = [postgres_program("postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port),
                   "-c", "unix_socket_directories=", *(word for line in settings for word in ("-c", line))]
        super().__init__("PostgreSQL", as_ordinary_user(command), port, folder.parent / f"{folder.name}.log",
                         stop_signal=signal.SIGQUIT)
        self.wait_until_up()
        self.run("CREATE ROLE oncekey LOGIN")
        self.check_durable()

    @staticmethod
    def check_reachable(folder):
        user = pwd.getpwnam(UNPRIVILEGED)
        for parent in folder.resolve().parents:
            status = parent.stat()
            mine = (status.st_uid == user.pw_uid and status.st_mode & 0o100) or (
                status.st_gid == user.pw_gid and status.st_mode & 0o010)
            if not mine and not status.st_mode & 0o001:
                raise BenchError(f"the user {UNPRIVILEGED} may not enter {parent}; choose another folder with --data")

    def answers(self):
        try:
            return self.run("SELECT 1") == "1"
        except BenchError:
            return False

    def run(self, sql, database="postgres"):
        """Each line of the result is a row, its columns between bars."""
        return run_program(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                            "-p", str(self.port), "-U", "postgres", "-d", database, "-c", sql],
                           "PostgreSQL").strip()

    def check_durable(self):
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            if self.run(f"SHOW {name}") != "on":
                raise BenchError(f"PostgreSQL has {name} off; a figure without it would be worth nothing")

    def describe(self):
        names = ("server_version", "fsync", "synchronous_commit", "shared_buffers", "max_wal_size",
                 "checkpoint_timeout", "max_connections")
        return ", ".join(f"{name} {self.run(f'SHOW {name}')}" for name in names)

    def url(self, database):
        return f"postgres://oncekey@127.0.0.1:{self.port}/{database}"

    def create(self, database):
        self.run(f"CREATE DATABASE {database} OWNER oncekey")
        return self.url(database)

    def create_store(self, database):
        url = self.create(database)
        run_program([str(self.oncekey), "migrate", "--store", url], "oncekey migrate")
        return url

    def checkpoint(self):
        """So that what one run left dirty is not written during the next."""
        self.run("CHECKPOINT")

    def pgbench(self, script, database, clients, seconds, **variables):
        output = run_program([
            "pgbench", "-n", "-M", "prepared", "-h", "127.0.0.1", "-p", str(self.port), "-U", "oncekey",
            "-c", str(clients), "-j", str(PGBENCH_THREADS), "-T", str(seconds), "-f", str(HERE / script),
            *(word for name, value in variables.items() for word in ("-D", f"{name}={value}")), database], "pgbench")
        done = re.search(r"^number of transactions actually processed: (\d+)", output, re.MULTILINE)
        failed = re.search(r"^number of failed transactions: (\d+)", output, re.MULTILINE)
        rate = re.search(r"^tps = ([0-9.]+) ", output, re.MULTILINE)
        if not done or not failed or not rate:
            raise BenchError(f"pgbench said something else than expected: {output}")
        # Its rate leaves out the time until all clients are connected.
        return Run(int(done[1]), int(done[1]) / float(rate[1]), None, None, None, {"failed": int(failed[1])})


class Redis(Server):
    """Its defaults, and the append-only file, synced every second, in place of snapshots."""

    def __init__(self, folder):
        folder.mkdir()
        port = free_port()
        configuration = folder / "redis.conf"
        configuration.write_text(f"bind 127.0.0.1\nport {port}\ndir {folder}\n"
                                 'appendonly yes\nappendfsync everysec\nsave ""\n')
        super().__init__("Redis", ["/usr/bin/redis-server", str(configuration)], port,
                         folder.parent / f"{folder.name}.log", stop_signal=signal.SIGKILL)
        self.wait_until_up()

    def command(self, *words):
        return run_program(["redis-cli", "-p", str(self.port), *words], "Redis").strip()

    def info(self, field):
        found = re.search(rf"^{field}:(.*?)\r?$", self.command("INFO", "everything"), re.MULTILINE)
        if not found:
            raise BenchError(f"Redis tells no {field}")
        return found[1]

    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def describe(self):
        return (f"{self.info('redis_version')}, appendonly yes, appendfsync everysec, no snapshots, "
                "the rest as it comes")

    def settle(self):
        """Waits until it is not writing its file anew."""
        deadline = time.monotonic() + REWRITE_SECONDS_MAX
        while self.info("aof_rewrite_in_progress") != "0" or self.info("aof_rewrite_scheduled") != "0":
            if time.monotonic() > deadline:
                raise BenchError(f"Redis is still writing its file anew after {REWRITE_SECONDS_MAX} s")
            time.sleep(0.2)
