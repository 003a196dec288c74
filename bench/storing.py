"""The part of the bench that needs no network: the store alone with millions of keys."""

import json
import shutil
import subprocess

from figures import Figure
from load import BenchError

# What store_bench writes with --json, and what is promised for it.
PROMISES = (
    ("disk_bytes_per_key", "disk per settled key, 52-byte answer, 2 M keys", 200, 120, " B"),
    ("resident_mib", "resident memory after 5 M keys", 400, 200, " MiB"),
    ("reserve_p50_ratio", "reserve latency, 5 M keys ÷ 50 k keys, p50", 1.5, 1.1, ""),
)


def store_figures(program, folder, details, report):
    if not program.exists():
        raise BenchError(f"{program} is not built; --skip embedded leaves its figures out")
    data, result = folder / "store", folder / "store.json"
    print("==> the store alone, up to 5 M keys (several minutes)", flush=True)
    command = [str(program), "--path", str(data), "--keys", "5000000", "--json", str(result)]
    # Its output is its progress, so it goes straight to the terminal.
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise BenchError("store_bench failed; its message is above")
    shutil.rmtree(data, ignore_errors=True)
    measured = json.loads(result.read_text())
    details["store_bench"] = measured
    report(f"store_bench: {measured}")
    return [Figure(what, measured.get(name), land, aim, False, unit,
                   "" if name in measured else f"store_bench did not report {name}")
            for name, what, land, aim, unit in PROMISES]
