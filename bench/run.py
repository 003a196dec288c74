"""./dev bench: the gateway beside nginx and pgbench, and its stores, as one table of figures."""

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
import footprint  # noqa: E402
import golden  # noqa: E402
import protecting  # noqa: E402
import reaping  # noqa: E402
import sharing  # noqa: E402
from bench import Bench  # noqa: E402
from disk import filesystem_of  # noqa: E402
from load import BenchError  # noqa: E402
from proxying import Proxying  # noqa: E402
from runs import HEADER  # noqa: E402
from servers import start_gateway, start_nginx  # noqa: E402
from storing import store_figures  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "proxy": "the gateway on its embedded store beside nginx",
    "embedded": "the embedded store alone, up to 5 M keys",
    "stores": "the gateway on PostgreSQL, Redis and both",
    "reaping": "1 M expired keys removed while serving",
    "footprint": "bytes per key in PostgreSQL and Redis",
    "golden": "payments in one commit, and the outbox's worker",
    "protection": "tokens, TLS, encryption and limits on, beside all of them off",
}
STAGES = {"stores": sharing.STAGES, "reaping": reaping.STAGES, "footprint": footprint.STAGES,
          "golden": golden.STAGES, "protection": protecting.STAGES}


def parts(text):
    names = text.split(",")
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"there is no part {name!r}; there are {', '.join(PARTS)}")
    return names


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="parts:\n" + "\n".join(f"  {name:10} {what}" for name, what in PARTS.items()))
    parser.add_argument("--quick", action="store_true",
                        help="one round of 4 s, few keys, without `embedded`: does it work, not how fast is it")
    parser.add_argument("--seconds", type=int, help="length of each run (8)")
    parser.add_argument("--rounds", type=int, help="rounds; the figures are medians (5; reaping has at most 3)")
    parser.add_argument("--only", type=parts, metavar="PART,...", help="these parts and no others")
    parser.add_argument("--skip", type=parts, metavar="PART,...", default=[], help="all parts but these")
    parser.add_argument("--only-nginx", action="store_true", help="measure the peer alone")
    parser.add_argument("--data", type=Path, default=ROOT / "build", help="where the data directories go (build)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the programs are (build)")
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = 4 if options.quick else 8
    if options.rounds is None:
        options.rounds = 1 if options.quick else 5
    chosen = options.only or [name for name in PARTS if name != "embedded" or not options.quick]
    options.parts = ["proxy"] if options.only_nginx else [name for name in chosen if name not in options.skip]
    if options.seconds < 1 or options.rounds < 1:
        parser.error("--seconds and --rounds take numbers above 0")
    return options


def results_name(options):
    """A run that is not the whole one does not take its place."""
    parts_chosen = [] if len(options.parts) == len(PARTS) else ["-".join(options.parts)]
    return ".".join(["latest", *(["quick"] if options.quick else []), *parts_chosen])


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
            gateway = started(start_gateway(
                options.build / "oncekey", f"rocksdb:{folder / 'data'}", upstream.port, folder))
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
    options.data = options.data.resolve()
    described = setting(options)
    for name, value in described.items():
        report(f"{name}: {value}")
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=options.data))
    folder.chmod(0o711)  # PostgreSQL runs as another user
    found, rows, details = [], [], {}
    try:
        if "proxy" in options.parts:
            proxying = measure_proxying(options, folder)
            rows += proxying.runs.rows()
            details |= proxying.details()
            found += [] if options.only_nginx else proxying.figures()
        if "embedded" in options.parts:
            found += store_figures(options.build / "store_bench", folder, details, report)
        for name, stages in STAGES.items():
            if name not in options.parts:
                continue
            rounds = min(options.rounds, 3) if name == "reaping" else options.rounds
            part = Bench(options.build / "oncekey", folder, options.seconds, rounds, options.quick, report,
                         details, described, rows)
            found += part.run_stages(stages)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if rows:
        print("\n" + figure_files.table(HEADER, rows))
    if found:
        print("\n" + figure_files.table(figure_files.FIGURE_HEADER, [figure.row() for figure in found]))
    print()
    for name, value in details.items():
        print(f"{name}: {value}")
    if not options.only_nginx and (found or details):
        written = figure_files.write(results_name(options), found, HEADER, rows, described, details)
        print(f"\nwritten to {written}")
    return 1 if any(figure.verdict in ("-", "MISSES") for figure in found) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
