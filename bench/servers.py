"""The processes of the bench, on free loopback ports: nginx twice and the gateway."""

import http.client
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from load import BenchError

HERE = Path(__file__).parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_SECONDS_MAX = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds_of(pid):
    """User and system time of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def resident_mib_of(pid):
    kib = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(kib[1]) / 1024


class Server:
    """A child process that listens on a port. `worker` is the process whose CPU is counted."""

    def __init__(self, name, command, port, log, stop_signal=signal.SIGTERM, **environment):
        self.name, self.port, self.log, self.stop_signal = name, port, log, stop_signal
        self.admin = None  # the port of a gateway's metrics
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            env=os.environ | environment)
        self.worker = self.process.pid

    def wait_until_up(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if self.answers():
                return self
            time.sleep(0.02)
        self.stop()
        tail = "\n".join(Path(self.log).read_text(errors="replace").splitlines()[-10:])
        raise BenchError(f"{self.name} does not accept connections on port {self.port}:\n{tail}")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def cpu_seconds(self):
        return cpu_seconds_of(self.worker)

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_nginx(name, folder, **values):
    """From NAME.conf.in; its single worker is the one child of the master."""
    port = free_port()
    values |= {"PORT": port, "FOLDER": folder, "USER": "user root;" if os.geteuid() == 0 else ""}
    text = (HERE / f"{name}.conf.in").read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    configuration = folder / f"{name}.conf"
    configuration.write_text(text)
    log = folder / f"{name}.log"
    command = ["/usr/sbin/nginx", "-p", str(folder), "-c", str(configuration), "-e", str(log)]
    server = Server(f"nginx ({name})", command, port, log)
    server.wait_until_up()
    server.worker = only_child(server)
    return server


def only_child(server):
    """The master listens before it has made its worker."""
    deadline = time.monotonic() + START_SECONDS_MAX
    children = []
    while not children and time.monotonic() < deadline:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    if len(children) != 1:
        server.stop()
        raise BenchError(f"{server.name} has {len(children)} workers, not one")
    return int(children[0])


def start_gateway(program, store, upstream_port, folder, **environment):
    """`environment` holds settings that have no flag: ONCEKEY_REPLAY_CACHE="0"."""
    port, admin = free_port(), free_port()
    command = [str(program), "serve", "--to", f"http://127.0.0.1:{upstream_port}",
               "--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}",
               "--store", store, "--log-level", "warn"]
    server = Server(f"oncekey --store {store}", command, port, folder / f"oncekey-{port}.log", **environment)
    server.admin = admin
    return server.wait_until_up()


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def upstream_requests(upstream):
    """nginx's own count of requests, this one included."""
    return int(fetch(upstream.port, "/requests").splitlines()[2].split()[2])


STORE_COUNTERS = ("syncs", "batches", "operations", "statements")


def store_counters(gateway):
    """The gateway's own count of what it did to its store."""
    page = fetch(gateway.admin, "/metrics")
    counters = {}
    for name in STORE_COUNTERS:
        values = re.findall(rf"^oncekey_store_{name}_total(?:\{{[^}}]*\}})? ([0-9.e+]+)$", page, re.MULTILINE)
        if not values:
            raise BenchError(f"/metrics has no oncekey_store_{name}_total: what the store did cannot be shown")
        counters[name] = int(sum(map(float, values)))
    return counters
