#!/usr/bin/env python3
"""What the end of a traced run costs: seconds in MPI_Finalize and the memory of rank 0, as the number of ranks grows.

    python3 benches/finalize.py [--records N] [--mpi openmpi|mpich] [--runs N] [--builds DIR...] [RANKS...]

Each rank records about N records (100000). Prints a row for each number of ranks (8, 32, 128, 256) and each build: a directory with
`mel` and `libmel.so`, so that an older build can be put beside this one. The first row of each number is without MEL. Each value is the
median of the runs. Run it on a quiet machine.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
# A log has some six records for each message, on the side that has more of them.
RECORDS_PER_MESSAGE = 6
RECORD_BYTES = 32
PRINTED = re.compile(r"finalize ([\d.]+) before (\d+) after (\d+)")


def launcher(mpi, scratch):
    """The words before the program, and the compiler."""
    if mpi == "openmpi":
        mpirun = shutil.which("mpirun.openmpi") or "mpirun"
        return [mpirun, "--oversubscribe", "--bind-to", "none"], shutil.which("mpicc.openmpi") or "mpicc"
    # Ranks of MPICH that wait keep their processors unless this makes them sleep.
    patient = scratch / "patient.so"
    source = ROOT / "tests/programs/special/patient.c"
    subprocess.run(["mpicc.mpich", "-O1", "-shared", "-fPIC", "-o", patient, source], check=True)
    return ["mpiexec.mpich", "-genv", "LD_PRELOAD", str(patient)], "mpicc.mpich"


def measured(command, runs, between):
    """The medians of seconds, and of KiB before and after, over some runs."""
    values = []
    for _ in range(runs):
        between()
        finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        found = PRINTED.search(finished.stdout)
        if finished.returncode != 0 or not found:
            sys.exit(f"finalize: {' '.join(map(str, command))} failed:\n{finished.stdout}{finished.stderr}")
        values.append([float(value) for value in found.groups()])
    return [statistics.median(column) for column in zip(*values)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--builds", type=pathlib.Path, nargs="+", default=[RELEASE], metavar="DIR")
    parser.add_argument("ranks", type=int, nargs="*", default=[8, 32, 128, 256])
    arguments = parser.parse_args()
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    messages = arguments.records // RECORDS_PER_MESSAGE

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        front, mpicc = launcher(arguments.mpi, scratch)
        program, run = scratch / "finalize", scratch / "run"
        subprocess.run([mpicc, "-O1", "-o", program, ROOT / "benches/finalize.c"], check=True)
        clean = lambda: shutil.rmtree(run, ignore_errors=True)
        print("| ranks | build | records of rank 0 | MPI_Finalize, s | peak of rank 0, MiB | of that in MPI_Finalize |")
        print("|---|---|---|---|---|---|")
        for ranks in arguments.ranks:
            ways = [("nothing attached", [])]
            ways += [(str(build), [build / "mel", "run", "--trace", "-o", run]) for build in arguments.builds]
            for name, under in ways:
                seconds, before, after = measured([*front, "-n", ranks, *under, program, messages], arguments.runs, clean)
                logs = run / "rank-0.mlog"
                records = logs.stat().st_blocks * 512 // RECORD_BYTES if under and logs.exists() else 0
                row = [ranks, name, f"{records:,}", f"{seconds:.2f}", f"{after / 1024:.1f}", f"{(after - before) / 1024:.1f}"]
                print("| " + " | ".join(map(str, row)) + " |", flush=True)
                clean()


if __name__ == "__main__":
    main()
