"""Running wrk, and what one run of it gave."""

import re
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__).with_name("load.lua")
KEYS_REPLAYED = 1000
BODY = b'{"amount":1250,"currency":"EUR","item":"sku-4711"}'


class BenchError(Exception):
    """Something that makes the figures worthless; the message says what."""


@dataclass
class Run:
    """One run of wrk; the CPU and upstream counts are filled in by who knows the processes."""

    requests: int
    seconds: float
    p50_us: float
    p99_us: float
    p999_us: float
    errors: dict
    cpu_seconds: float = 0.0
    upstream_requests: int = 0

    @property
    def rate(self):
        return self.requests / self.seconds

    @property
    def cpu_us(self):
        return self.cpu_seconds / self.requests * 1e6 if self.requests else 0.0

    @property
    def clean(self):
        return self.requests > 0 and not any(self.errors.values())


def new_prefix():
    return secrets.token_hex(12)


def replayed_key(prefix, number):
    """The same keys that load.lua sends in its replay mode."""
    return f"{prefix}0-{number:010d}"


def run_wrk(port, connections, seconds, mode, prefix, threads=1):
    command = ["wrk", f"-t{min(threads, connections)}", f"-c{connections}", f"-d{seconds}s",
               "--timeout", "10s", "-s", str(SCRIPT), f"http://127.0.0.1:{port}", "--", mode, prefix]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    line = re.search(r"^RESULT (.*)$", result.stdout, re.MULTILINE)
    if result.returncode != 0 or not line:
        raise BenchError(f"wrk failed: {result.stderr.strip() or result.stdout.strip()}")
    values = {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", line[1])}
    return Run(requests=values["requests"], seconds=values["duration_us"] / 1e6,
               p50_us=values["p50_us"], p99_us=values["p99_us"], p999_us=values["p999_us"],
               errors={kind: values[kind] for kind in ("connect", "read", "write", "timeout", "status")})
