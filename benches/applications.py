#!/usr/bin/env python3
"""What `mel run` costs applications, in the terms of Hunold and others (2022): start, net run time and end, apart.

Five applications of Debian, two ranks, one on each core: LAMMPS, HPCC, NWChem, CP2K, Quantum ESPRESSO. The start is the time from the
launch until rank 0 has left MPI_Init, the net run time until it enters MPI_Finalize, the end until the launcher has returned: with
`mel run` the report is written then. A round runs each without and with MEL, one after the other; told are the medians without, and
those of what it takes more.

Then what a message takes more that is not in the middle: the 99.9th percentile of 200 000 round trips.

    python3 benches/applications.py                  all, as `make bench` does
    python3 benches/applications.py --only cp2k      one application
    python3 benches/applications.py --rounds 11      more rounds, less noise

Exit code 1 when an application's net run time is more than 1.05 of that without; HPCC, which is benchmarks of messages, is told only. Needs the release build (`make build`), Open MPI and
the applications, and only Python's standard library.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare import MPIS, RELEASE, ROOT, progress
from figure1 import compiled, conclude

# What each runs, and the inputs that lie in its directory, by the names that they have there.
APPLICATIONS = {
    "lammps": (["lmp", "-log", "none", "-in", "melt.lammps"], {"melt.lammps": "melt.lammps"}),
    "hpcc": (["hpcc"], {"hpccinf.txt": "hpccinf.txt"}),
    "nwchem": (["nwchem.openmpi", "water.nw"], {"water.nw": "water.nw"}),
    "cp2k": (["cp2k.popt", "water.cp2k"], {"water.cp2k": "water.cp2k"}),
    "espresso": (["pw.x", "-in", "aluminium.in"], {"aluminium.in": "aluminium.in"}),
}
# What is other in an input: HPCC's is for four ranks, and takes no time.
CHANGES = {"hpccinf.txt": [("2            rows of", "1            rows of"), ("200          orders", "2000         orders")]}

BAR = 1.05
# A set of benchmarks of messages: in a part of it two requests are tested millions of times.
NOT_JUDGED = {"hpcc"}
TIME_LIMIT_S = 300


def parts(mpi, name, stamps, with_mel):
    """Seconds of start, net run time and end of one run."""
    words, inputs = APPLICATIONS[name]
    with tempfile.TemporaryDirectory() as directory:
        for there, source in inputs.items():
            text = (ROOT / "tests/inputs" / source).read_text()
            for before, after in CHANGES.get(there, []):
                text = text.replace(before, after)
            Path(directory, there).write_text(text)
        # Outside of MEL, so that what it does in MPI_Init belongs to the start.
        stamped = ["sh", "-c", f'LD_PRELOAD="{stamps} $LD_PRELOAD" exec "$@"', "sh", *words]
        mel = [str(RELEASE / "mel"), "run", "-o", "mel", "--"] if with_mel else []
        command = [*mpi.launcher, *mel, *stamped]
        environment = {**os.environ, **mpi.environment, "STAMPS": f"{directory}/stamps", "OMP_NUM_THREADS": "1"}
        begin = time.time()
        done = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S
        )
        end = time.time()
        told = Path(directory, "stamps")
        times = [float(line) for line in told.read_text().split()] if told.exists() else []
        if done.returncode or len(times) != 2:
            sys.exit(f"applications.py: no times from: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return times[0] - begin, times[1] - times[0], end - times[1]


def percentiles(mpi, program, with_mel):
    """Nanoseconds of half a round trip: the median, the 99th and the 99.9th percentile."""
    with tempfile.TemporaryDirectory() as directory:
        mel = [str(RELEASE / "mel"), "run", "-o", f"{directory}/mel", "--"] if with_mel else []
        command = [*mpi.launcher, *mel, str(program)]
        done = subprocess.run(
            command, env={**os.environ, **mpi.environment}, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S
        )
        found = re.search(r"half ([\d.]+) p99 ([\d.]+) p99.9 ([\d.]+)", done.stdout)
        if done.returncode or not found:
            sys.exit(f"applications.py: no time from: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return tuple(float(number) for number in found.groups())


def pairs(rounds, what, run):
    """Medians of each part without MEL, and of what each takes more with it."""
    without, more = [], []
    for number in range(rounds):
        progress(f"{what}, round {number + 1} of {rounds}")
        plain, watched = run(False), run(True)
        without.append(plain)
        more.append([after - before for before, after in zip(plain, watched)])
    progress("")
    return [[statistics.median(part) for part in zip(*of)] for of in (without, more)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=APPLICATIONS, default=list(APPLICATIONS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    mpi = next(mpi for mpi in MPIS if mpi.name == "openmpi")
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        stamps = compiled(mpi, ROOT / "benches/stamps.c", scratch / "stamps.so", "-shared", "-fPIC")
        print("milliseconds without, and what `mel run` takes more:   start          net run time            end")
        for name in options.only:
            if not shutil.which(APPLICATIONS[name][0][0]):
                sys.exit(f"applications.py: {APPLICATIONS[name][0][0]} is not installed: scripts/install-deps")
            without, more = pairs(options.rounds, name, lambda with_mel: parts(mpi, name, stamps, with_mel))
            told = "   ".join(f"{1e3 * plain:7.0f} + {1e3 * added:5.0f}" for plain, added in zip(without, more))
            ratio = 1 + more[1] / without[1]
            print(f"{name:38} {told}   net {ratio:.3f}")
            if ratio > BAR and name not in NOT_JUDGED:
                missed.append(f"{name}: the net run time is {ratio:.3f} of that without, bar {BAR}")
        for one in (one for one in MPIS if one.name in ("openmpi", "mpich")):
            program = compiled(one, ROOT / "benches/percentiles.c", scratch / f"percentiles-{one.name}")
            without, more = pairs(options.rounds, f"{one.name}, percentiles", lambda with_mel: percentiles(one, program, with_mel))
            told = ", ".join(
                f"{what} {plain:.0f} + {added:.0f}"
                for what, plain, added in zip(("median", "99th percentile", "99.9th"), without, more)
            )
            print(f"{one.name}: nanoseconds of half a round trip without, and what `mel run` takes more: {told}")
    conclude(missed)


if __name__ == "__main__":
    main()
