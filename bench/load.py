"""Running wrk, and what one run of it gave."""

import http.client
import re
import secrets
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT = Path(__file__).with_name("load.lua")
KEYS_REPLAYED = 1000
BODY = b'{"amount":1250,"currency":"EUR","item":"sku-4711"}'
WATCH_SECONDS = 1


class BenchError(Exception):
    """Something that makes the figures worthless; the message says what."""


@dataclass
class Run:
    """One run of wrk; the rest is filled in by who knows the processes. A percentile that the load
    generator does not tell is None."""

    requests: int
    seconds: float
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    errors: dict
    cpu_seconds: float | None = None
    upstream_requests: int = 0
    store: dict = field(default_factory=dict)  # what the gateway's store counters grew by

    @property
    def rate(self):
        return self.requests / self.seconds

    @property
    def cpu_us(self):
        if self.cpu_seconds is None:
            return None
        return self.cpu_seconds / self.requests * 1e6 if self.requests else 0.0

    @property
    def clean(self):
        return self.requests > 0 and not any(self.errors.values())


def new_prefix():
    return secrets.token_hex(12)


def replayed_key(prefix, number):
    """The same keys that load.lua sends in its replay and pool modes."""
    return f"{prefix}0-{number:010d}"


def run_wrk(port, connections, seconds, mode, prefix, threads=1, ended=None, scheme="http", **settings):
    """`settings` are those of load.lua. `ended` is asked every second whether to stop early."""
    command = ["wrk", f"-t{min(threads, connections)}", f"-c{connections}", f"-d{seconds}s",
               "--timeout", "10s", "-s", str(SCRIPT), f"{scheme}://127.0.0.1:{port}", "--", mode, prefix,
               *(f"{name}={value}" for name, value in settings.items())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output, errors = outcome_of(process, ended)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    line = re.search(r"^RESULT (.*)$", output, re.MULTILINE)
    if process.returncode != 0 or not line:
        raise BenchError(f"wrk failed: {errors.strip() or output.strip()}")
    values = {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", line[1])}
    return Run(requests=values["requests"], seconds=values["duration_us"] / 1e6,
               p50_us=values["p50_us"], p99_us=values["p99_us"], p999_us=values["p999_us"],
               errors={kind: values[kind] for kind in ("connect", "read", "write", "timeout", "status")})


def outcome_of(process, ended):
    while True:
        try:
            return process.communicate(timeout=WATCH_SECONDS if ended else None)
        except subprocess.TimeoutExpired:
            if ended():
                process.send_signal(signal.SIGINT)  # wrk ends its run and reports as usual
                ended = None


def post(connection, key, path="/orders"):
    connection.request("POST", path, BODY, {"Content-Type": "application/json", "Idempotency-Key": key})
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


def send_each(port, prefix, keys, replayed, senders=16):
    """Sends each key of the replay runs once; each must be answered as a replay, or as none."""
    problems = []

    def send(first):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            for number in range(first, keys, senders):
                status, _, headers = post(connection, replayed_key(prefix, number))
                if status != 201 or (headers.get("Idempotency-Replayed") == "true") != replayed:
                    problems.append(f"status {status}, Idempotency-Replayed {headers.get('Idempotency-Replayed')}")
                    return
        except OSError as error:
            problems.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(first,)) for first in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise BenchError(f"{'replaying' if replayed else 'filling'} the replay keys: {problems[0]}")
