"""./dev bench: the gateway beside nginx, and the store alone, as one table of figures."""

import argparse
import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import figures as figure_files  # noqa: E402
from disk import filesystem_of  # noqa: E402
from load import BenchError  # noqa: E402
from proxying import Proxying  # noqa: E402
from servers import start_gateway, start_nginx  # noqa: E402
from storing import store_figures  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of 4 s, without the long store runs")
    parser.add_argument("--seconds", type=int, help="length of each run (8)")
    parser.add_argument("--rounds", type=int, help="rounds; the figures are medians (5)")
    parser.add_argument("--skip-store", action="store_true", help="leave out the 2 M and 5 M key runs")
    parser.add_argument("--only-store", action="store_true", help="leave out everything that sends requests")
    parser.add_argument("--only-nginx", action="store_true", help="measure the peer alone")
    parser.add_argument("--data", type=Path, default=ROOT / "build", help="where the data directories go (build)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the programs are (build)")
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = 4 if options.quick else 8
    if options.rounds is None:
        options.rounds = 1 if options.quick else 5
    options.skip_store = options.skip_store or options.quick
    if options.seconds < 1 or options.rounds < 1:
        parser.error("--seconds and --rounds take numbers above 0")
    return options


def report(text):
    print(f"    {text}", flush=True)


def first_line(*command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "?"
    return ((result.stdout + result.stderr).splitlines() or ["?"])[0].strip()


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def setting(options):
    return {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "machine": f"{os.cpu_count()} × {processor()}, Linux {platform.release()}, data on {filesystem_of(options.data)}",
        "busy before": f"load average {os.getloadavg()[0]:.2f} (above 0.5 the figures are of little worth)",
        "peer": f"{first_line('/usr/sbin/nginx', '-v').split()[-1]}, plain reverse proxy, one worker, keep-alive both ways, no access log",
        "upstream": "the same nginx, one worker, answers 201 with 52 bytes of JSON",
        "gateway": "strict: both syncs before the answer; log level warn, so no line per request either",
        "load": f"wrk, one thread, {options.rounds} alternating rounds of {options.seconds} s a run; "
                "POST with 50 bytes of JSON and a 36-character key; all on the same processors",
    }


def measure_proxying(options, folder):
    with contextlib.ExitStack() as servers:
        def started(server):
            servers.callback(server.stop)
            return server

        upstream = started(start_nginx("upstream", folder))
        nginx = started(start_nginx("proxy", folder, UPSTREAM_PORT=upstream.port))
        gateway = None
        if not options.only_nginx:
            gateway = started(start_gateway(options.build / "oncekey", folder / "data", upstream.port, folder))
        proxying = Proxying(upstream, nginx, gateway, folder, options.seconds, report)
        proxying.prepare()
        for number in range(options.rounds):
            print(f"==> round {number + 1} of {options.rounds}", flush=True)
            proxying.round()
        return proxying


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.data.mkdir(parents=True, exist_ok=True)
    described = setting(options)
    for name, value in described.items():
        report(f"{name}: {value}")
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=options.data))
    found, header, rows, details = [], [], [], {}
    try:
        if not options.only_store:
            proxying = measure_proxying(options, folder)
            header, rows = proxying.table()
            details |= proxying.details()
            found += [] if options.only_nginx else proxying.figures()
        if not options.skip_store and not options.only_nginx:
            found += store_figures(options.build / "store_bench", folder, details, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if rows:
        print("\n" + figure_files.table(header, rows))
    if found:
        print("\n" + figure_files.table(figure_files.FIGURE_HEADER, [figure.row() for figure in found]))
    print()
    for name, value in details.items():
        print(f"{name}: {value}")
    if found:
        figure_files.write(found, header, rows, described, details)
        print("\nwritten to bench/results/latest.json and latest.md")
    return 1 if any(figure.verdict in ("-", "MISSES") for figure in found) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
