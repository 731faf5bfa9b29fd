#!/usr/bin/env python3
"""Measures what MEL costs, side by side with nothing attached and with EZTrace.

Two programs (pingpong.c: latency; msgrate.c: message rate) run on two ranks, one per core, in each
configuration. A round runs all configurations one after the other, so that whatever changes on the machine
changes for all of them; a run is compared with the plain run of its own round, and the median of these ratios
over all rounds is what counts.

    python3 benches/compare.py                     all, as `make bench` does
    python3 benches/compare.py --mpi mpich         only one MPI
    python3 benches/compare.py --rounds 11         more rounds, less noise

Exit code 1 when a bar is missed. Needs the release build (`make build`), and only Python's standard library.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")) / "release"
TIME_LIMIT_S = 300


@dataclass
class Mpi:
    """An installed MPI: its compiler, its launcher with two ranks bound to one core each, EZTrace's module."""

    name: str
    compiler: str
    launcher: list
    eztrace: str
    environment: dict = field(default_factory=dict)
    # What is measured with it, where that is not everything.
    only: tuple = ()

    def is_installed(self):
        return bool(shutil.which(self.compiler) and shutil.which(self.launcher[0]))


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Two ranks, one per core.
OPEN_MPI_BOUND = ["-n", "2", "--bind-to", "core", "--map-by", "core"]
MPICH_BOUND = ["-n", "2", "-bind-to", "core"]

WITHOUT_TRACE = ("plain", "idle", "profile")


def prefix_of(script, *package):
    """Where a script of ours installs an MPI."""
    words = [ROOT / "scripts" / script, "--prefix", *package]
    return Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


def with_peruse():
    """The Open MPI that scripts/openmpi-with-peruse has built, where the events come from ob1 itself."""
    commands = prefix_of("openmpi-with-peruse") / "bin"
    launcher = [str(commands / "mpirun"), *OPEN_MPI_BOUND]
    return Mpi("openmpi-peruse", str(commands / "mpicc"), launcher, "", AS_ROOT, WITHOUT_TRACE)


def newer(name, package, compiler, bound, environment):
    """One of the MPIs of the Python package index that scripts/pypi-mpis has installed."""
    commands = prefix_of("pypi-mpis", package) / "bin"
    launcher = [str(commands / "mpiexec"), *bound]
    return Mpi(name, str(commands / compiler), launcher, "", environment, WITHOUT_TRACE)


MPIS = [
    Mpi("openmpi", "mpicc.openmpi", ["mpirun.openmpi", *OPEN_MPI_BOUND], "openmpi", AS_ROOT),
    Mpi("mpich", "mpicc.mpich", ["mpiexec.mpich", *MPICH_BOUND], "mpich"),
    with_peruse(),
    newer("openmpi-5", "openmpi", "mpicc", OPEN_MPI_BOUND, AS_ROOT),
    newer("mpich-5", "mpich", "mpicc", MPICH_BOUND, {}),
    newer("standard", "mpich", "mpicc_abi", MPICH_BOUND, {}),
]


@dataclass
class Bench:
    """A measuring program: the key and unit of the line that it prints, and whether more is better."""

    program: str
    key: str
    title: str
    unit: str
    scale: float
    more_is_better: bool


BENCHES = [
    Bench("pingpong", "latency_ns", "latency", "ns", 1.0, False),
    Bench("msgrate", "rate_per_s", "message rate", "M/s", 1e-6, True),
]

# The bars: ratios to the plain run. Tracing is measured against EZTrace instead.
BARS = {
    ("idle", "pingpong"): 1.02,
    ("idle", "msgrate"): 0.97,
    ("profile", "pingpong"): 1.5,
    ("profile", "msgrate"): 0.45,
}

# Where PERUSE calls back for each event, a message rate can be less.
BARS_OF = {("openmpi-peruse", "profile", "msgrate"): 0.30}

# Plain runs that differ by more than this factor among themselves make the comparison worthless.
NOISY = 1.3

CONFIGURATIONS = {
    "plain": "nothing attached",
    "idle": "libmel.so preloaded, nothing on",
    "profile": "mel run (queue profile)",
    "trace": "mel run --trace",
    "eztrace": "eztrace (MPI calls only)",
}


def prefix(configuration, mpi, directory):
    """The words between the launcher and the program; whatever they write goes below `directory`."""
    mel = str(RELEASE / "mel")
    if configuration == "idle":
        return ["env", f"LD_PRELOAD={RELEASE / 'libmel.so'}", "MEL_PROFILE=none"]
    if configuration == "profile":
        return [mel, "run", "-o", str(directory / "mel"), "--"]
    if configuration == "trace":
        return [mel, "run", "--trace", "-o", str(directory / "mel"), "--"]
    if configuration == "eztrace":
        return ["eztrace", "-t", mpi.eztrace, "-o", str(directory / "eztrace")]
    return []


def run(mpi, bench, configuration, executable, scratch):
    """One run; returns the number that the program printed. Everything that it wrote is removed."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=scratch) as directory:
        command = mpi.launcher + prefix(configuration, mpi, Path(directory)) + [str(executable)]
        environment = {**os.environ, **mpi.environment}
        try:
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
        except subprocess.TimeoutExpired:
            sys.exit(f"compare.py: not finished after {TIME_LIMIT_S} s: {' '.join(command)}")
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) == 2 and words[0] == bench.key and done.returncode == 0:
                return float(words[1])
        sys.exit(
            f"compare.py: no result from: {' '.join(command)} (exit code {done.returncode})\n{done.stdout}{done.stderr}"
        )


def compile_benches(mpi, scratch):
    executables = {}
    for bench in BENCHES:
        executable = scratch / f"{bench.program}-{mpi.name}"
        source = ROOT / "benches" / f"{bench.program}.c"
        # MPI's headers give sentinels as addresses that no array can have, which the compiler takes for a mistake.
        flags = ["-std=c99", "-O2", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
        subprocess.run([mpi.compiler, *flags, "-o", executable, source], check=True)
        executables[bench.program] = executable
    return executables


def progress(text):
    """Shows on a terminal what is being measured; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def measure(mpi, configurations, rounds, scratch):
    """All results as {(bench, configuration): [one number per round]}."""
    executables = compile_benches(mpi, scratch)
    results = {}
    for number in range(rounds):
        for bench in BENCHES:
            for configuration in configurations:
                progress(f"{mpi.name}: round {number + 1}/{rounds} {bench.program} {configuration}")
                value = run(mpi, bench, configuration, executables[bench.program], scratch)
                results.setdefault((bench.program, configuration), []).append(value)
    progress("")
    return results


def ratio(results, bench, configuration, reference):
    """The median over the rounds of each run's ratio to the reference run of the same round."""
    pairs = zip(results[bench.program, configuration], results[bench.program, reference])
    return statistics.median(value / base for value, base in pairs)


def judge(value, bar, bench):
    reached = value >= bar if bench.more_is_better else value <= bar
    sign = ">=" if bench.more_is_better else "<="
    return f"{sign} {bar:.2f} {'reached' if reached else 'MISSED'}", reached


def report(mpi, configurations, results):
    """Prints the table of one MPI; returns whether all bars were reached."""
    all_reached = True
    rounds = len(results["pingpong", "plain"])
    print(f"\n{mpi.name}: medians of {rounds} interleaved rounds, 8-byte messages, 2 ranks on 2 cores")
    for bench in BENCHES:
        plain = results[bench.program, "plain"]
        if max(plain) > NOISY * min(plain):
            print(
                f"\n  The plain runs differ by a factor of {max(plain) / min(plain):.1f}: the machine is busy with"
                " other things, and these ratios say little."
            )
        print(f"\n  {bench.title:32} {bench.unit:>9} {'ratio':>7}   bar")
        for configuration in configurations:
            values = results[bench.program, configuration]
            against_plain = ratio(results, bench, configuration, "plain")
            verdict = ""
            bar = BARS_OF.get((mpi.name, configuration, bench.program), BARS.get((configuration, bench.program)))
            if bar is not None:
                verdict, reached = judge(against_plain, bar, bench)
                all_reached &= reached
            elif configuration == "trace" and "eztrace" in configurations:
                against_eztrace = ratio(results, bench, "trace", "eztrace")
                verdict, reached = judge(against_eztrace, 1.0, bench)
                verdict = f"{against_eztrace:.2f} of EZTrace, {verdict}"
                all_reached &= reached
            middle = statistics.median(values) * bench.scale
            print(f"  {CONFIGURATIONS[configuration]:32} {middle:9.2f} {against_plain:7.3f}   {verdict}")
    return all_reached


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds, at least 5 for a judgement (7)")
    parser.add_argument("--mpi", choices=[mpi.name for mpi in MPIS], help="only this MPI")
    parser.add_argument(
        "--only", metavar="LIST", help=f"configurations beside plain, by comma: {','.join(CONFIGURATIONS)}"
    )
    chosen = parser.parse_args()
    chosen.configurations = list(CONFIGURATIONS)
    if chosen.only:
        wanted = chosen.only.split(",")
        unknown = [name for name in wanted if name not in CONFIGURATIONS]
        if unknown:
            parser.error(f"no such configuration: {', '.join(unknown)}")
        chosen.configurations = [name for name in CONFIGURATIONS if name == "plain" or name in wanted]
    if chosen.rounds < 1:
        parser.error("at least one round is needed")
    return chosen


def main():
    chosen = arguments()
    configurations = chosen.configurations
    if any(name in configurations for name in ("idle", "profile", "trace")):
        for name in ("mel", "libmel.so"):
            if not (RELEASE / name).exists():
                sys.exit(f"compare.py: {RELEASE / name} is not there: run `make build` first")
    if "eztrace" in configurations and not shutil.which("eztrace"):
        print("compare.py: eztrace is not installed; the comparison with it is left out")
        configurations.remove("eztrace")
    mpis = [mpi for mpi in MPIS if mpi.is_installed() and chosen.mpi in (None, mpi.name)]
    if not mpis:
        sys.exit("compare.py: no MPI found: run scripts/install-deps first")
    if (os.cpu_count() or 1) < 2:
        sys.exit("compare.py: two cores are needed, one for each rank")

    all_reached = True
    with tempfile.TemporaryDirectory(prefix="mel-bench-") as scratch:
        for mpi in mpis:
            these = [name for name in configurations if not mpi.only or name in mpi.only]
            results = measure(mpi, these, chosen.rounds, Path(scratch))
            all_reached &= report(mpi, these, results)
    sys.exit(0 if all_reached else 1)


if __name__ == "__main__":
    main()
