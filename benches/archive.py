#!/usr/bin/env python3
"""How fast archives are written: the writer beside libotf2 alone, and event logs as they become archives.

    python3 benches/archive.py [MILLIONS]

Both programs write the same records, one after the other in each round, and must leave the same files of events. Prints
events per second, bytes per event, and the median of the ratios of the rounds. Fails where the writer has less than 0.8 of
the rate of libotf2. Then a traced message-rate run is converted: events of the archive per second.
"""

import filecmp
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from report import MEL, ROOT, installed, size

# What archive.c and archive.rs write in an iteration, for four ranks.
EVENTS_PER_ITERATION = 4 * 16
ROUNDS = 5
BAR = 0.8
EXAMPLE = MEL.parent / "examples" / "archive"


def lines_of(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def written(program, directory, iterations):
    """Events per second, and the files of events."""
    told = re.match(r"events (\d+) seconds ([\d.]+)", lines_of(program, directory, iterations))
    return int(told[1]) / float(told[2]), sorted((directory / "traces").glob("*.evt"))


def writer_beside_libotf2(scratch, millions):
    alone = scratch / "archive"
    flags = lines_of("otf2-config", "--cflags", "--ldflags", "--libs").split()
    subprocess.run(["cc", "-std=c99", "-D_POSIX_C_SOURCE=199309L", "-O2", "-o", alone, ROOT / "benches/archive.c", *flags], check=True)
    iterations = max(1, int(millions * 1e6 / EVENTS_PER_ITERATION))
    rates, ratios = {"libotf2": [], "writer": []}, []
    for number in range(ROUNDS + 1):
        with tempfile.TemporaryDirectory(dir=scratch) as both:
            both = pathlib.Path(both)
            expected, theirs = written(alone, both / "libotf2", iterations)
            rate, ours = written(EXAMPLE, both / "writer", iterations)
            if [file.name for file in theirs] != [file.name for file in ours] or not theirs:
                sys.exit("the two archives have other files of events")
            if not all(filecmp.cmp(a, b, shallow=False) for a, b in zip(theirs, ours)):
                sys.exit("the two archives have other events")
            bytes_per_event = sum(file.stat().st_size for file in ours) / (iterations * EVENTS_PER_ITERATION)
        # The first round warms up.
        if number:
            rates["libotf2"].append(expected)
            rates["writer"].append(rate)
            ratios.append(rate / expected)
    for name, of_rounds in rates.items():
        print(f"{name:9} {statistics.median(of_rounds) / 1e6:6.1f} million events/s, {bytes_per_event:.1f} bytes per event")
    ratio = statistics.median(ratios)
    print(f"{'ratio':9} {ratio:6.2f} (at least {BAR})")
    return ratio


def conversion(scratch, millions):
    compiler, launcher = installed()
    program, run = scratch / "msgrate", scratch / "run"
    subprocess.run([compiler, "-O2", "-o", program, ROOT / "benches/msgrate.c"], check=True)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # 22 repetitions of windows of 64 messages, each of which leaves some sixteen events.
    command = [launcher, "-n", "2", MEL, "run", "--trace", "-o", run, program, int(millions * 1e6 / 16 / 64 / 22) + 1]
    command = [str(word) for word in command]
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    lines_of(MEL, "convert", "--otf2", "--force", run)
    seconds = time.monotonic() - begin
    events = sum(int(count) for count in re.findall(r"# Events: (\d+)", lines_of("otf2-print", "-G", run / "traces.otf2")))
    logs = sum(size(log) for log in run.glob("*.mlog"))
    archive = sum(file.stat().st_size for file in (run / "traces").glob("*.evt"))
    print(f"{'convert':9} {events / seconds / 1e6:6.1f} million events/s: {events / 1e6:.1f} million events in {seconds:.2f} s, "
          f"{logs / 1e6:.0f} MB of logs to {archive / 1e6:.0f} MB, {archive / events:.1f} bytes per event")


def main():
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    # In memory where that can be: how fast a disk is, is no property of ours.
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="mel-bench-", dir=memory if os.access(memory, os.W_OK) else None) as scratch:
        ratio = writer_beside_libotf2(pathlib.Path(scratch), millions)
        conversion(pathlib.Path(scratch), millions)
    if ratio < BAR:
        sys.exit(f"the writer must have {BAR} of the rate of libotf2")


if __name__ == "__main__":
    main()
