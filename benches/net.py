#!/usr/bin/env python3
"""What `mel run --profile net` costs: large messages over TCP, the collective operations of the paper's table, LAMMPS.

Plain runs and runs with MEL take turns (A B A B); each pair of neighbours gives one difference, in percent of the plain run. The tables,
in Markdown, have the median of the differences and their quartiles, and how far plain runs differ from each other.

    python3 benches/net.py                     Debian's Open MPI and MPICH, over TCP
    python3 benches/net.py --quick             fewer sizes and pairs: five minutes
    python3 benches/net.py --mpi mpich         only one
    python3 benches/net.py --only lammps       only some of tcp, collectives, lammps, instructions
    python3 benches/net.py --transport shared  within the node as the MPI likes (CMA), and not over TCP
    python3 benches/net.py --pairs 15          more pairs, less noise
    python3 benches/net.py --ranks 4           for the collective operations and LAMMPS; one for each processor otherwise

The aim: at most 1 % for large messages over TCP, and for LAMMPS. Where plain runs differ by more than that, times do not tell it. So
`instructions` counts MEL's instructions with valgrind, which are the same whatever else the machine does; exit code 1 where they are too many. Needs the release build (`make build`), a quiet machine, and only
Python's standard library.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare import AS_ROOT, ROOT
from report import MEL

MPIS = {
    "openmpi": ("mpicc.openmpi", "mpirun.openmpi", "lmp"),
    "mpich": ("mpicc.mpich", "mpiexec.mpich", None),
}
OVER_TCP = {
    "openmpi": {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_pml": "ob1"},
    "mpich": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"},
}
SIZES = [2, 64, 2 << 10, 64 << 10, 1 << 20, 8 << 20]
QUICK_SIZES = [2, 64 << 10, 8 << 20]
LARGE = [1 << 20, 8 << 20]
COLLECTIVES = ["bcast", "reduce", "scatter", "alltoall"]
# How often net.c does what it is asked to, the first time included.
BATCHES = 6
# A fluid that melts, as in the example of that name.
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {edge} 0 {edge} 0 {edge}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run {steps}
"""


def start(mpi, ranks, words, environment, with_mel, scratch, counted=False):
    """Runs a program, with MEL or without, its instructions counted or not; what it prints."""
    launcher = MPIS[mpi][1]
    command = [launcher, "-n", str(ranks)]
    if mpi == "openmpi":
        command += ["--oversubscribe"]
    if with_mel:
        command += [MEL, "run", "--profile", "net", "-o", scratch / "run", "--force"]
    if counted:
        variable = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[mpi]
        # The program only: MEL's command becomes it.
        command += ["--"] if with_mel else []
        command += ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={scratch}/counted-%q{{{variable}}}"]
    command += words
    done = subprocess.run(
        [str(word) for word in command],
        env=dict(os.environ, **AS_ROOT, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=900,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def paired(pairs, measure):
    """Plain values, and the differences in percent of the plain run of the same pair."""
    plain, differences = [], []
    for number in range(pairs):
        # Which one comes first changes.
        order = (False, True) if number % 2 == 0 else (True, False)
        values = {with_mel: measure(with_mel) for with_mel in order}
        plain.append(values[False])
        differences.append(100 * (values[True] / values[False] - 1))
    return plain, differences


def spread(values):
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4)
    return first, third


def row(name, unit, plain, differences):
    median = statistics.median(plain)
    noise = [100 * (value / median - 1) for value in plain]
    low, high = spread(differences)
    return (
        f"| {name} | {median:.4g} {unit} | {statistics.median(differences):+.2f} % | {low:+.2f} to {high:+.2f} % "
        f"| {min(noise):+.1f} to {max(noise):+.1f} % |"
    )


def head(title):
    print(f"\n**{title}**\n\n| | plain, median | with MEL: median of pairs | quartiles | plain runs among themselves |\n|---|---|---|---|---|", flush=True)


def shown(size):
    for unit, bytes_ in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_:
            return f"{size // bytes_} {unit}"
    return f"{size} B"


def counts(size, ranks, seconds):
    """So many operations that a batch takes about this long, at 1 GB/s and 20 us an operation."""
    return max(3, int(seconds / (20e-6 * ranks + size * ranks / 1e9)))


def operations(mpi, program, options, what, sizes, ranks, environment, scratch):
    for operation in what:
        for size in sizes:
            words = [program, operation, size, counts(size, ranks, options.seconds)]

            def least(with_mel, words=words):
                return min(map(float, start(mpi, ranks, words, environment, with_mel, scratch).split()))

            print(row(f"{operation}, {shown(size)}", "us", *paired(options.pairs, least)), flush=True)


def lammps(mpi, options, environment, scratch):
    program = MPIS[mpi][2]
    if not program or not shutil.which(program):
        return
    text = MELT.format(edge=12 if options.quick else 20, steps=200 if options.quick else 500)
    (scratch / "melt").write_text(text)
    words = [program, "-log", "none", "-in", scratch / "melt"]

    def loop(with_mel):
        output = start(mpi, options.ranks, words, dict(environment, OMP_NUM_THREADS="1"), with_mel, scratch)
        return next(float(line.split()[3]) for line in output.splitlines() if line.startswith("Loop time of"))

    head(f"LAMMPS, melt, {options.ranks} ranks ({mpi}, {options.transport})")
    print(row("loop time", "s", *paired(options.pairs, loop)), flush=True)


def instructions(mpi, ranks, words, environment, scratch):
    """MEL's instructions, and all, of the rank that has most of MEL's."""
    start(mpi, ranks, words, environment, True, scratch, counted=True)
    found = []
    for rank in range(ranks):
        command = ["callgrind_annotate", "--threshold=100", scratch / f"counted-{rank}"]
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        lines = [(line.split(maxsplit=1)[0].replace(",", ""), line) for line in text.splitlines() if line.strip()]
        numbers = [(int(number), line) for number, line in lines if number.isdigit()]
        of_mel = sum(number for number, line in numbers if "libmel.so" in line)
        found.append((of_mel, next(number for number, line in numbers if "PROGRAM TOTALS" in line)))
    return max(found)


def by_instructions(mpi, program, environment, scratch):
    """Prints how many instructions are MEL's; whether these are at most 1 %."""
    print(f"\n**Instructions ({mpi}, tcp)**\n\n| | MEL's | share |\n|---|---|---|", flush=True)
    all_reached = True
    for size in LARGE:
        few, many = (instructions(mpi, 2, [program, "pingpong", size, count], environment, scratch)[0] for count in (20, 60))
        words = [program, "pingpong", size, counts(size, 2, 0.3)]
        took = min(map(float, start(mpi, 2, words, environment, False, scratch).split()))
        # An operation is a message there and one back; an instruction takes less than a nanosecond.
        each = (many - few) / BATCHES / 40
        share = each / (took * 1000)
        all_reached &= share <= 0.01
        print(f"| pingpong, {shown(size)} | {each:.0f} each | at most {100 * share:.2f} % of {took:.0f} us |", flush=True)
    lammps = MPIS[mpi][2]
    if lammps and shutil.which(lammps):
        runs = []
        for steps in (10, 30):
            (scratch / "melt").write_text(MELT.format(edge=12, steps=steps))
            words = [lammps, "-log", "none", "-in", scratch / "melt"]
            runs.append(instructions(mpi, 2, words, dict(environment, OMP_NUM_THREADS="1"), scratch))
        (few, few_of), (many, many_of) = runs
        share = (many - few) / (many_of - few_of)
        all_reached &= share <= 0.01
        print(f"| LAMMPS, 20 steps | {many - few} of {many_of - few_of} | {100 * share:.3f} % |", flush=True)
    return all_reached


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mpi", choices=MPIS)
    arguments.add_argument("--only", nargs="*", choices=["tcp", "collectives", "lammps", "instructions"], default=["tcp", "collectives", "lammps"])
    arguments.add_argument("--transport", choices=["tcp", "shared"], default="tcp")
    arguments.add_argument("--pairs", type=int)
    arguments.add_argument("--ranks", type=int, default=min(4, os.cpu_count() or 2))
    arguments.add_argument("--quick", action="store_true")
    options = arguments.parse_args()
    options.pairs = options.pairs or (3 if options.quick else 9)
    options.seconds = 0.05 if options.quick else 0.3
    options.ranks = max(2, options.ranks)
    if not MEL.exists():
        sys.exit(f"there is no {MEL}: make build")
    begin, all_reached = time.monotonic(), True
    for mpi in [options.mpi] if options.mpi else MPIS:
        compiler, launcher, _ = MPIS[mpi]
        if not shutil.which(compiler) or not shutil.which(launcher):
            print(f"{mpi} is not installed", file=sys.stderr)
            continue
        environment = OVER_TCP[mpi] if options.transport == "tcp" else {}
        with tempfile.TemporaryDirectory(prefix="mel-bench-") as scratch:
            scratch = Path(scratch)
            program = scratch / "net"
            subprocess.run([compiler, "-O2", "-o", program, ROOT / "benches/net.c"], check=True)
            if "tcp" in options.only:
                head(f"Large messages back and forth, 2 ranks ({mpi}, {options.transport})")
                operations(mpi, program, options, ["pingpong"], LARGE, 2, environment, scratch)
            if "collectives" in options.only:
                head(f"Collective operations, {options.ranks} ranks ({mpi}, {options.transport})")
                sizes = QUICK_SIZES if options.quick else SIZES
                operations(mpi, program, options, COLLECTIVES, sizes, options.ranks, environment, scratch)
            if "lammps" in options.only:
                lammps(mpi, options, environment, scratch)
            if "instructions" in options.only:
                all_reached &= by_instructions(mpi, program, OVER_TCP[mpi], scratch)
    print(f"\n{time.monotonic() - begin:.0f} s", file=sys.stderr)
    sys.exit(0 if all_reached else 1)


if __name__ == "__main__":
    main()
