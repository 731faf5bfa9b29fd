#!/usr/bin/env python3
"""What a library with the events of MPI_T costs, in the five configurations of Figure 1 of the paper on MPI_T events.

A ping-pong of 8-byte messages and one application (LAMMPS, a melting crystal), two ranks, one on each core:

    nothing      no library                        in the paper: events disabled
    library      libmpit_events.so, no tool        events enabled without a tool
    tool         a tool that registers nothing     MEL without callbacks
    callbacks    16 callbacks that do nothing      MEL with empty callbacks
    profile      mel run                           Score-P, which profiles

A round runs all configurations one after the other; a run is compared with the one without a library of its own round.
The median of these ratios is told, with the least and the greatest.

    python3 benches/figure1.py                  all, as `make bench` does
    python3 benches/figure1.py --mpi mpich      only one MPI
    python3 benches/figure1.py --rounds 11      more rounds, less noise

Exit code 1 when a bar is missed. Needs the release build (`make build`), LAMMPS, and only Python's standard library.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import MPIS, RELEASE, ROOT, progress

CONFIGURATIONS = ("nothing", "library", "tool", "callbacks", "profile")

# The most that the time may be of the time without a library.
BARS = {
    ("ping-pong", "library"): 1.02,
    ("ping-pong", "callbacks"): 1.5,
    ("LAMMPS", "library"): 1.02,
    ("LAMMPS", "tool"): 1.02,
    ("LAMMPS", "callbacks"): 1.05,
    ("LAMMPS", "profile"): 1.03,
}
# On MPICH the library follows calls from the start, with a tool or without.
NOT_JUDGED = {("mpich", "ping-pong", "library")}

TIME_LIMIT_S = 300


def compiled(mpi, source, output, *flags):
    words = [mpi.compiler, "-std=gnu99", "-O2", f"-I{ROOT / 'include'}", *flags, "-o", str(output), str(source)]
    subprocess.run(words, check=True)
    return output


def conclude(missed):
    """Tells the bars that were missed, and ends."""
    for line in missed:
        print(f"missed: {line}")
    sys.exit(bool(missed))


def prefix(configuration, tool, directory):
    """The words before the program."""
    events = RELEASE / "libmpit_events.so"
    return {
        "nothing": [],
        "library": ["env", f"LD_PRELOAD={events}"],
        "tool": ["env", "LISTEN=no", f"LD_PRELOAD={tool} {events}"],
        "callbacks": ["env", "LISTEN=yes", f"LD_PRELOAD={tool} {events}"],
        "profile": [str(RELEASE / "mel"), "run", "-o", str(directory / "mel"), "--"],
    }[configuration]


def timed(mpi, configuration, tool, words, pattern):
    """The time that one run tells."""
    with tempfile.TemporaryDirectory() as directory:
        command = [*mpi.launcher, *prefix(configuration, tool, Path(directory)), *words]
        done = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, **mpi.environment},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT_S,
        )
        found = re.search(pattern, done.stdout)
        if done.returncode or not found:
            sys.exit(f"figure1.py: no time from: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return float(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=("openmpi", "mpich"))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for mpi in (mpi for mpi in MPIS if mpi.name in ("openmpi", "mpich") and options.mpi in (None, mpi.name)):
            source = ROOT / "tests/programs/special/listens_to_events.c"
            tool = compiled(mpi, source, scratch / f"tool-{mpi.name}.so", "-shared", "-fPIC")
            pingpong = compiled(mpi, ROOT / "benches/pingpong.c", scratch / f"pingpong-{mpi.name}")
            melt = ROOT / "tests/inputs/melt.lammps"
            programs = {"ping-pong": ([str(pingpong), "20000"], r"latency_ns ([\d.]+)")}
            # Debian's is linked with Open MPI.
            if mpi.name == "openmpi":
                programs["LAMMPS"] = (["lmp", "-log", "none", "-in", str(melt)], r"Loop time of ([\d.]+)")
            for name, (words, pattern) in programs.items():
                ratios = {configuration: [] for configuration in CONFIGURATIONS}
                for round_ in range(options.rounds):
                    progress(f"{mpi.name}, {name}, round {round_ + 1} of {options.rounds}")
                    times = {one: timed(mpi, one, tool, words, pattern) for one in CONFIGURATIONS}
                    for one, time in times.items():
                        ratios[one].append(time / times["nothing"])
                progress("")
                print(f"{mpi.name}, {name}: time beside a run without a library (least to greatest)")
                for one in CONFIGURATIONS[1:]:
                    middle, bar = statistics.median(ratios[one]), BARS.get((name, one))
                    judged = bar is not None and (mpi.name, name, one) not in NOT_JUDGED
                    if judged and middle > bar:
                        missed.append(f"{mpi.name}, {name}, {one}: {middle:.2f}, bar {bar}")
                    told = f", bar {bar}" if judged else ""
                    print(f"  {one:10} {middle:.2f} ({min(ratios[one]):.2f} to {max(ratios[one]):.2f}){told}")
    conclude(missed)


if __name__ == "__main__":
    main()
