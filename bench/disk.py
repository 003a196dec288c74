"""What one sync costs on the disk that holds the data directory."""

import os
import statistics
import time
from pathlib import Path

from load import BenchError

BLOCK_BYTES = 4096
SYNCS = 1500
IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}


def filesystem_of(folder):
    """The type of the file system that holds a folder; one without a disk is refused."""
    folder, best, kind = Path(folder).resolve(), "", "?"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, mount_kind = line.split()[:3]
        if folder.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, mount_kind
    if kind in IN_MEMORY:
        raise BenchError(f"{folder} is on {kind}, where a sync costs nothing; choose another with --data")
    return kind


def append_sync_us(folder, syncs=SYNCS):
    """Median of: append one block to a growing file, fdatasync."""
    path = Path(folder) / "sync.probe"
    block = os.urandom(BLOCK_BYTES)
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        times = []
        for number in range(syncs):
            started = time.perf_counter_ns()
            os.pwrite(descriptor, block, number * BLOCK_BYTES)
            os.fdatasync(descriptor)
            times.append((time.perf_counter_ns() - started) / 1000)
        return statistics.median(times)
    finally:
        os.close(descriptor)
        path.unlink()
