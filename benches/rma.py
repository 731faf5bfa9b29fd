#!/usr/bin/env python3
"""Measures what MEL costs one-sided communication from sixteen threads: the paper's Figure 2, on this machine.

rma.c runs on two ranks in each configuration: the target, which polls all the time, on the last processor, the sixteen
threads on the others. A round runs all configurations one after the other, in an order that
changes, so that whatever changes on the machine changes for all of them. In each round the plain program runs first
and last: rates are compared with the mean of the two, and how far the two differ is the noise floor, which is shown
beside the ratios. A round in which they differ by more than a tenth, over all points, is left out: the machine has
changed meanwhile, as virtual ones do whose cores move. A ratio is the median over operations and ways to synchronise, and then over rounds; behind it stand the
quartiles over rounds. A bar that is missed by less than plain runs differ is told as such, and is not a miss.

    python3 benches/rma.py                     all MPIs that are installed
    python3 benches/rma.py --mpi mpich         only one
    python3 benches/rma.py --only callbacks    only that beside the plain program
    python3 benches/rma.py --rounds 25         more rounds, less noise
    python3 benches/rma.py --realtime          before everything else that runs here (chrt, as root); threads take turns
                                               when they wait, instead of being interrupted with a lock of the MPI
    python3 benches/rma.py --json FILE         adds the numbers to FILE, and reports on all that it has
    python3 benches/rma.py --svg FILE          draws the ratios

Exit code 1 when a bar is missed. Needs the release build (`make build`), and only Python's standard library.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import AS_ROOT, MPIS, RELEASE, ROOT, progress

# A run takes some five seconds. One that takes longer than this hangs: with --realtime, Open MPI does so now and then, with
# nothing attached, too. It is told, and repeated.
TIME_LIMIT_S = 60
MOST_HANGS = 3

# More threads than cores: nothing is bound.
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"],
    "mpich": ["mpiexec.mpich", "-n", "2"],
}

CONFIGURATIONS = {
    "plain": "nothing attached",
    "again": "nothing attached, again",
    "idle": "libmel.so preloaded, nothing on",
    "floor": "two empty functions for each operation, and nothing else",
    "callbacks": "a callback that does nothing on all 13 events",
    "profile": "mel run --profile rma",
}

WAYS = ["flush", "flush_all", "lock_all", "pscw"]
SIZES = [8, 256, 4096, 65536, 1 << 20, 4 << 20]


def bar(configuration, size):
    """The least ratio to the plain run, where there is one to reach."""
    if configuration == "idle":
        return 0.98
    if configuration == "callbacks" and size == 8:
        return 0.90
    if configuration == "callbacks" and size >= 65536:
        return 0.99
    return None


def compile_bench(mpi, scratch):
    """The program alone, with callbacks, and what is preloaded as the floor."""
    flags = ["-std=c99", "-D_GNU_SOURCE", "-O2", "-Wall", "-pthread"]
    flags += ["-Wno-stringop-overflow", "-Wno-stringop-overread"]
    events = ["-DCALLBACKS", f"-I{ROOT / 'include'}"]
    library = ["-Wl,--no-as-needed", f"-L{RELEASE}", "-lmpit_events", f"-Wl,-rpath,{RELEASE}"]
    executables = {}
    for name, before, after in [("plain", [], []), ("callbacks", events, library)]:
        executable = scratch / f"rma-{name}-{mpi.name}"
        command = [mpi.compiler, *flags, *before, "-o", executable, ROOT / "benches/rma.c", *after]
        subprocess.run(command, check=True)
        executables[name] = executable
    executables["floor"] = scratch / f"libfloor-{mpi.name}.so"
    command = [mpi.compiler, "-O2", "-shared", "-fPIC", "-o", executables["floor"], ROOT / "benches/floor.c"]
    subprocess.run(command, check=True)
    return executables


def realtime(command):
    """Before everything else on this machine. Threads take turns when they wait, and not after some milliseconds: one that
    is interrupted with a lock of the MPI has all others wait for it, which is most of what would be measured. The
    launcher comes before its processes, and what ends the run comes before both."""
    return ["chrt", "-f", "12", "timeout", "-k", "5", str(TIME_LIMIT_S), "chrt", "-f", "11", *command]


def end(executable):
    """Ends what a launcher has left behind that was killed: threads that spin before everything else, for ever."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "exe") == str(executable.resolve()):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # It has ended, or is not ours.


class Hangs(Exception):
    """A run has been ended that took too long."""


def run(mpi, configuration, executables, scratch, options):
    """One run, repeated where it hangs: {(operation, way, bytes): operations per second}."""
    for _ in range(MOST_HANGS):
        try:
            return run_once(mpi, configuration, executables, scratch, options)
        except Hangs:
            progress("")
            print(f"rma.py: {mpi.name}: a run with {CONFIGURATIONS[configuration]} hung, and was ended", file=sys.stderr)
    sys.exit(f"rma.py: {mpi.name}: {MOST_HANGS} runs of one configuration hung: try without --realtime, or fewer --milliseconds")


def run_once(mpi, configuration, executables, scratch, options):
    executable = executables["callbacks" if configuration == "callbacks" else "plain"]
    with tempfile.TemporaryDirectory(prefix="run-", dir=scratch) as directory:
        prefix = []
        if configuration == "idle":
            prefix = ["env", f"LD_PRELOAD={RELEASE / 'libmel.so'}", "MEL_PROFILE=none"]
        if configuration == "floor":
            prefix = ["env", f"LD_PRELOAD={executables['floor']}"]
        if configuration == "profile":
            prefix = [str(RELEASE / "mel"), "run", "--profile", "rma", "-o", f"{directory}/mel", "--"]
        command = prefix + [str(executable), str(options.milliseconds)]
        command = LAUNCHERS[mpi.name] + (["chrt", "-f", "10"] if options.realtime else []) + command
        if options.realtime:
            command = realtime(command)
        done = None
        try:
            done = subprocess.run(
                command,
                cwd=directory,
                env={**os.environ, **AS_ROOT},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT_S + 10,
            )
        except subprocess.TimeoutExpired as hang:
            raise Hangs from hang
        finally:
            if done is None or done.returncode != 0:
                end(executable)
        if options.realtime and done.returncode in (124, 137):
            raise Hangs
        rates = {}
        for line in done.stdout.splitlines():
            words = line.split()
            if words[:1] == ["rate"] and len(words) == 5:
                rates[f"{words[1]} {words[2]} {words[3]}"] = float(words[4])
        if done.returncode != 0 or len(rates) != 2 * len(WAYS) * len(SIZES):
            sys.exit(f"rma.py: no result from: {' '.join(command)} (exit code {done.returncode})\n{done.stderr}")
        return rates


def measure(mpi, options, scratch):
    """A list of rounds: {configuration: rates}."""
    executables = compile_bench(mpi, scratch)
    measured = []
    for number in range(options.rounds):
        rates = {}
        between = [name for name in CONFIGURATIONS if name not in ("plain", "again")]
        between = options.only or between
        for configuration in ["plain", *random.sample(between, len(between)), "again"]:
            progress(f"{mpi.name}: round {number + 1}/{options.rounds} {configuration}")
            rates[configuration] = run(mpi, configuration, executables, scratch, options)
        measured.append(rates)
    progress("")
    return measured


def ratios(measured, configuration, size):
    """For each round: the median over operations and ways to synchronise of a rate's ratio to the plain one."""
    points = [f"{operation} {way} {size}" for operation in ("put", "get") for way in WAYS]

    def ratio(rates, point):
        plain, again = rates["plain"][point], rates["again"][point]
        reference = plain if configuration == "again" else (plain + again) / 2
        return rates[configuration][point] / reference

    return [statistics.median(ratio(rates, point) for point in points) for rates in measured]


def steady(measured):
    """The rounds in which the machine has stayed as it was."""

    def change(rates):
        return abs(1 - statistics.median(rates["again"][point] / rates["plain"][point] for point in rates["plain"]))

    return [rates for rates in measured if change(rates) <= 0.1]


def by_size(measured, configuration, size):
    """The median over the rounds."""
    return statistics.median(ratios(measured, configuration, size))


def noise(measured, size):
    """How far two plain runs of a round differ: the median of that over the rounds."""
    return statistics.median(abs(1 - ratio) for ratio in ratios(measured, "again", size))


def quartiles(values):
    if len(values) < 2:
        return values * 2
    return [statistics.quantiles(values, n=4, method="inclusive")[place] for place in (0, 2)]


def size_name(size):
    for unit, scale in [("MiB", 1 << 20), ("KiB", 1 << 10)]:
        if size >= scale:
            return f"{size // scale} {unit}"
    return f"{size} B"


def report(name, measured):
    """Prints the tables of one MPI; returns whether all bars were reached."""
    rounds, measured = len(measured), steady(measured)
    if not measured:
        print(f"\n{name}: the machine has changed during each of {rounds} rounds: no result")
        return False
    print(f"\n{name}: medians of {len(measured)} of {rounds} rounds, 2 ranks, 16 threads on one of them")
    print(f"\n| operations per second, plain | {' | '.join(map(size_name, SIZES))} |")
    print("|---|" + "---|" * len(SIZES))
    for operation in ("put", "get"):
        for way in WAYS:
            rates = []
            for size in SIZES:
                rate = statistics.median(r["plain"][f"{operation} {way} {size}"] for r in measured)
                rates.append(f"{rate:.3g}" if rate < 1e4 else f"{rate / 1e3:.0f}k")
            print(f"| {operation}, {way} | {' | '.join(rates)} |")
    print(f"\n| ratio to plain | {' | '.join(map(size_name, SIZES))} |")
    print("|---|" + "---|" * len(SIZES))
    all_reached = True
    for configuration in list(CONFIGURATIONS)[1:]:
        if any(configuration not in rates for rates in measured):
            continue
        cells = []
        for size in SIZES:
            value, least = by_size(measured, configuration, size), bar(configuration, size)
            low, high = quartiles(ratios(measured, configuration, size))
            verdict = ""
            # Compared as it is printed.
            if least is not None and round(value, 2) < least:
                in_noise = value >= least - noise(measured, size)
                verdict = f" (within noise of {least:.2f})" if in_noise else f" (MISSED {least:.2f})"
                all_reached &= in_noise
            cells.append(f"{value:.2f} [{low:.2f}, {high:.2f}]{verdict}")
        print(f"| {CONFIGURATIONS[configuration]} | {' | '.join(cells)} |")
    print(f"| noise: two plain runs differ by | {' | '.join(f'{noise(measured, size):.3f}' for size in SIZES)} |")
    return all_reached


COLOURS = {"again": "#cccccc", "idle": "#777777", "floor": "#2ca02c", "callbacks": "#1f77b4", "profile": "#d62728"}


def draw(path, all_measured):
    """The ratios by size as SVG: one panel for each MPI."""
    width, height, left, top = 420, 260, 50, 40
    parts = []
    for panel, (name, rounds) in enumerate(all_measured.items()):
        measured = steady(rounds) or rounds
        x0, y0 = left + panel * (width + left), top

        def x(number, x0=x0):
            return x0 + number * width / (len(SIZES) - 1)

        def y(value, y0=y0):
            return y0 + height * (1.1 - max(0.5, min(value, 1.1))) / 0.6

        parts.append(f'<text x="{x0}" y="{top - 15}" font-weight="bold">{name}</text>')
        for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1):
            parts.append(f'<path d="M{x0} {y(value):.1f}h{width}" stroke="#dddddd"/>')
            parts.append(f'<text x="{x0 - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.1f}</text>')
        for number, size in enumerate(SIZES):
            parts.append(
                f'<text x="{x(number):.1f}" y="{y0 + height + 18}" text-anchor="middle">{size_name(size)}</text>'
            )
        for line, (configuration, colour) in enumerate(COLOURS.items()):
            if any(configuration not in rates for rates in measured):
                continue
            values = [by_size(measured, configuration, size) for size in SIZES]
            points = " ".join(f"{x(number):.1f},{y(value):.1f}" for number, value in enumerate(values))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            if panel == 0:
                legend = top + height + 45 + 16 * line
                parts.append(f'<path d="M{left} {legend - 4}h24" stroke="{colour}" stroke-width="2"/>')
                parts.append(f'<text x="{left + 32}" y="{legend}">{CONFIGURATIONS[configuration]}</text>')
    total = left + len(all_measured) * (width + left)
    text = "\n".join(parts)
    Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{top + height + 45 + 16 * len(COLOURS)}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{left}" y="14">message rate, ratio to nothing attached</text>\n{text}\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=list(LAUNCHERS), help="measure only this MPI")
    parser.add_argument(
        "--only", action="append", choices=["idle", "floor", "callbacks", "profile"], help="measure only this beside the plain program"
    )
    parser.add_argument("--rounds", type=int, default=9, help="default: 9; 0: only report what FILE has")
    parser.add_argument("--milliseconds", type=int, default=20, help="of each measurement; default: 20")
    parser.add_argument("--realtime", action="store_true", help="run before everything else on this machine; needs root")
    parser.add_argument("--json", metavar="FILE", help="keep the numbers here, with those of earlier runs")
    parser.add_argument("--svg", metavar="FILE", help="draw the ratios")
    arguments = parser.parse_args()
    for needed in ("mel", "libmel.so", "libmpit_events.so"):
        if not (RELEASE / needed).exists():
            sys.exit(f"rma.py: {RELEASE / needed} is not there: run `make build` first")
    all_measured = {}
    if arguments.json and Path(arguments.json).exists():
        all_measured = json.loads(Path(arguments.json).read_text())
    mpis = [mpi for mpi in MPIS if mpi.name in LAUNCHERS and arguments.mpi in (None, mpi.name)]
    mpis = [mpi for mpi in mpis if mpi.is_installed()]
    with tempfile.TemporaryDirectory(prefix="mel-rma-") as scratch:
        for mpi in mpis if arguments.rounds > 0 else []:
            all_measured.setdefault(mpi.name, []).extend(measure(mpi, arguments, Path(scratch)))
    if not all_measured:
        sys.exit("rma.py: no MPI with launchers of these names is installed: " + ", ".join(LAUNCHERS))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(all_measured))
    reached = [report(name, measured) for name, measured in all_measured.items()]
    if arguments.svg:
        draw(arguments.svg, all_measured)
    sys.exit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
