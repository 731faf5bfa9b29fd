#!/usr/bin/env python3
"""Measures what counting who sends what to whom costs, beside Open MPI's own component: the paper's table, on this machine.

Two kinds of programs: sizes.c, in which pairs of ranks exchange messages of 0 bytes to 1 MB, and applications (LAMMPS, HPCC) in place of the
paper's NAS benchmarks. Each configuration is compared with the plain program in pairs: plain, configuration, plain, configuration, and so on. A
ratio is that of a run to the mean of the plain ones before and after it; what is told is the median of the ratios, and behind it the
quartiles. How far plain runs that follow each other differ is told, too: less than that is noise.

    python3 benches/matrix.py                   all, some 25 minutes
    python3 benches/matrix.py --quick           five minutes
    python3 benches/matrix.py --mpi mpich       only one MPI; there is no component to compare with
    python3 benches/matrix.py --only sizes      no applications; or --only LAMMPS, --only HPCC
    python3 benches/matrix.py --pairs 15        more pairs, less noise
    python3 benches/matrix.py --only LAMMPS --configurations profile,sampled,attribute
                                                an application under other measurements

Prints Markdown tables. Needs the release build (`make build`), a quiet machine, and only Python's standard library.
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

from compare import AS_ROOT, ATTRIBUTED, RELEASE, ROOT, SAMPLED, progress

TIME_LIMIT_S = 600
SIZES = [0, 8, 64, 1024, 16384, 262144, 1000000]

MPIS = {
    "openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"], AS_ROOT),
    "mpich": ("mpicc.mpich", ["mpiexec.mpich"], {}),
}

# What `mel run` is given, and what that is called.
OF_MEL = {
    "matrix": (["--profile", "matrix"], "`mel run --profile matrix`"),
    "both": (["--profile", "calls,queues,matrix"], "`mel run --profile calls,queues,matrix`"),
    "profile": ([], "`mel run`"),
    "sampled": (["--vars", SAMPLED, "--every", "1s"], "`mel run --vars` (20, each 1 s)"),
    "attribute": (["--attribute", ATTRIBUTED], "`mel run --attribute` (5)"),
    "net": (["--profile", "net"], "`mel run --profile net`"),
}
CONFIGURATIONS = {name: title for name, (_, title) in OF_MEL.items()} | {"component": "Open MPI's own component"}
USUAL = "matrix,both,component"


def prefix(configuration, directory):
    """The words between the launcher and the program, and variables."""
    if configuration in OF_MEL:
        return [str(RELEASE / "mel"), "run", *OF_MEL[configuration][0], "-o", str(directory / "mel"), "--"], {}
    if configuration == "component":
        # Recorded, as MEL does it, and written at the end.
        name = str(directory / "theirs")
        enable = {"enable": "1", "enable_output": "3", "filename": name}
        return [], {f"OMPI_MCA_pml_monitoring_{key}": value for key, value in enable.items()}
    return [], {}


class Bench:
    """A program: its title, its ranks, what it needs, its command, and how its results are read: by name, less is better."""

    def __init__(self, title, ranks, command, read, files=()):
        self.title, self.ranks, self.command, self.read, self.files = title, ranks, command, read, files


def of_sizes(output):
    lines = [line.split() for line in output.splitlines()]
    return {int(words[0]): float(words[1]) for words in lines if len(words) == 2 and words[0].isdigit()}


def of_lammps(output):
    loops = [line.split()[3] for line in output.splitlines() if line.startswith("Loop time of ")]
    return {"loop time": float(loops[-1])} if loops else {}


def lammps(ranks, steps):
    """The crystal of the tests, with more steps."""
    text = (ROOT / "tests/inputs/melt.lammps").read_text()
    text = "\n".join(f"run {steps}" if line.startswith("run ") else line for line in text.splitlines()) + "\n"
    return Bench(f"LAMMPS, {ranks} ranks", ranks, ["lmp", "-log", "none", "-in", "melt"], of_lammps, [("melt", text)])


def hpcc(ranks):
    text = (ROOT / "tests/inputs/hpccinf.txt").read_text()
    return Bench(f"HPCC, {ranks} ranks", ranks, ["hpcc"], None, [("hpccinf.txt", text)])


def run(mpi, bench, configuration, scratch):
    """One run: {name: time}. What it has written is removed."""
    _, launcher, variables = MPIS[mpi]
    with tempfile.TemporaryDirectory(prefix="run-", dir=scratch) as directory:
        directory = Path(directory)
        for name, text in bench.files:
            (directory / name).write_text(text)
        words, more = prefix(configuration, directory)
        command = [*launcher, "-n", str(bench.ranks), *words, *map(str, bench.command)]
        environment = {**os.environ, **variables, **more, "OMP_NUM_THREADS": "1"}
        if bench.ranks > (os.cpu_count() or 1):
            environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
        begin = time.monotonic()
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT_S,
        )
        took = time.monotonic() - begin
        result = bench.read(done.stdout) if bench.read else {"run time": took}
        if done.returncode != 0 or not result:
            sys.exit(f"matrix.py: no result from: {' '.join(command)} (exit code {done.returncode})\n{done.stdout}{done.stderr}")
        return result


def paired(mpi, bench, configuration, pairs, scratch):
    """Ratios to the plain program by name, and how far plain runs differ: plain, configuration, plain, ..., plain."""
    ratios, noise, plain_times = {}, {}, {}
    before = run(mpi, bench, "plain", scratch)
    for number in range(pairs):
        progress(f"{mpi}, {bench.title}, {configuration}: {number + 1} of {pairs}")
        with_it = run(mpi, bench, configuration, scratch)
        after = run(mpi, bench, "plain", scratch)
        for name, value in with_it.items():
            ratios.setdefault(name, []).append(2 * value / (before[name] + after[name]))
            noise.setdefault(name, []).append(abs(after[name] / before[name] - 1))
            plain_times.setdefault(name, []).append(after[name])
        before = after
    progress("")
    return ratios, noise, plain_times


def percent(ratio):
    return f"{(ratio - 1) * 100:+.1f} %"


def cell(ratios):
    """The median, and the quartiles behind it."""
    if len(ratios) < 3:
        return percent(statistics.median(ratios))
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{percent(middle)} ({percent(low)} to {percent(high)})"


def table(mpi, bench, configurations, pairs, scratch, unit):
    """Measures all configurations of a program, and prints a row for each of its results."""
    found = {of: paired(mpi, bench, of, pairs, scratch) for of in configurations}
    rows = []
    for name in next(iter(found.values()))[0]:
        plain = statistics.median([value for _, _, plain in found.values() for value in plain[name]])
        noise = statistics.median([value for _, noise, _ in found.values() for value in noise[name]])
        cells = [cell(found[of][0][name]) for of in configurations]
        what = f"{name} B" if isinstance(name, int) else name
        rows.append([f"{bench.title}: {what}", f"{plain:.4g} {unit}", *cells, f"{noise * 100:.1f} %"])
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    return {of: [statistics.median(values) for values in found[of][0].values()] for of in configurations}


def measure(mpi, options, scratch):
    compiler, _, _ = MPIS[mpi]
    configurations = [of for of in options.configurations.split(",") if of != "component" or mpi == "openmpi"]
    executable = scratch / f"sizes-{mpi}"
    flags = ["-std=c99", "-O2", "-Wall"]
    subprocess.run([compiler, *flags, "-o", executable, ROOT / "benches/sizes.c"], check=True)
    milliseconds = 100 if options.quick else 300
    rank_counts = [2] if options.quick else [2, 4, 8]
    print(f"\n{mpi}: overhead, medians of {options.pairs} pairs (quartiles)\n")
    head = ["", "plain", *(CONFIGURATIONS[of] for of in configurations), "plain runs differ by"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    medians = {of: [] for of in configurations}
    if options.only in (None, "sizes"):
        for ranks in rank_counts:
            bench = Bench(f"{ranks} ranks", ranks, [executable, milliseconds, *SIZES], of_sizes)
            for of, ratios in table(mpi, bench, configurations, options.pairs, scratch, "ns").items():
                medians[of] += ratios
    applications = [
        ("LAMMPS", "lmp", lammps(2, 100 if options.quick else 300)),
        ("HPCC", "hpcc", hpcc(4)),
    ]
    for name, command, bench in applications:
        # Debian's are built for Open MPI.
        if options.only not in (None, name) or mpi != "openmpi" or options.quick and name == "HPCC" and not options.only:
            continue
        if shutil.which(command) is None:
            print(f"matrix.py: {name} is not installed: scripts/install-deps installs it", file=sys.stderr)
            continue
        table(mpi, bench, configurations, options.pairs, scratch, "s")
    if any(medians.values()):
        print("\nover all sizes and numbers of ranks, median: " + ", ".join(
            f"{CONFIGURATIONS[of]} {percent(statistics.median(ratios))}" for of, ratios in medians.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=MPIS, help="only this one")
    parser.add_argument("--only", choices=["sizes", "LAMMPS", "HPCC"], help="only these programs")
    parser.add_argument("--pairs", type=int, help="pairs of runs; 9, with --quick 5")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: five minutes")
    parser.add_argument("--configurations", metavar="LIST", default=USUAL, help=f"some of {','.join(CONFIGURATIONS)}, by comma")
    options = parser.parse_args()
    unknown = [name for name in options.configurations.split(",") if name not in CONFIGURATIONS]
    if unknown:
        parser.error(f"no such configuration: {', '.join(unknown)}")
    options.pairs = options.pairs or (5 if options.quick else 9)
    if not (RELEASE / "mel").exists():
        sys.exit("matrix.py: no release build: make build")
    with tempfile.TemporaryDirectory(prefix="matrix-") as scratch:
        for mpi, (compiler, _, _) in MPIS.items():
            if options.mpi in (None, mpi) and shutil.which(compiler):
                measure(mpi, options, Path(scratch))


if __name__ == "__main__":
    main()
