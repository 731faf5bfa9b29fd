#!/usr/bin/env python3
"""How long the page of a long run takes: a traced message-rate run with at least ten million events in its logs.

    python3 benches/report.py [MILLIONS]

Prints events, size of the logs, and for the page, the pictures and the Perfetto trace: seconds, most memory, size.
Fails where the page of ten million events takes more than 10 seconds, 1 GiB or 10 MB. Then the report and the page of a profile of 100 000
ranks, which was made up: fails where one takes more than 5 seconds.
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEL = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "mel"
# What one message leaves on both sides: calls entered and left, its own records, searches, and changes of the queues.
EVENTS_PER_MESSAGE = 12
# The windows of 64 messages are repeated as often as benches/bench.h says, and once before.
MESSAGES_PER_ITERATION = 64 * 22

SECONDS, GIBIBYTES, MEGABYTES = 10, 1, 10
# The report of 100 000 ranks.
MANY_SECONDS = 5


def installed():
    for compiler, launcher in (("mpicc.openmpi", "mpirun.openmpi"), ("mpicc.mpich", "mpiexec.mpich"), ("mpicc", "mpirun")):
        if shutil.which(compiler) and shutil.which(launcher):
            return compiler, launcher
    sys.exit("no MPI found (mpicc, mpirun); scripts/install-deps installs one")


def measured(*command):
    """Seconds, and the most memory in bytes, of a command."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return seconds, usage.ru_maxrss * 1024


def size(path):
    return sum(f.stat().st_size for f in path.rglob("*")) if path.is_dir() else path.stat().st_size


def of_many_ranks(scratch):
    """The report and the page of the profile of 100 000 ranks; what took too long."""
    example = MEL.parent / "examples" / "many_ranks"
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "mel", "--example", "many_ranks"], cwd=ROOT, check=True)
    subprocess.run([example, scratch / "many", "100000"], check=True)
    over = []
    for name, options in (("report", []), ("page", ["--html", scratch / "many.html"])):
        seconds, memory = measured(MEL, "report", *options, scratch / "many")
        print(f"{name:9} {seconds:6.2f} s {memory / 2**20:6.0f} MiB of 100 000 ranks")
        if seconds > MANY_SECONDS:
            over.append(name)
    return over


def main():
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    compiler, launcher = installed()
    with tempfile.TemporaryDirectory(prefix="mel-bench-") as scratch:
        scratch = pathlib.Path(scratch)
        program, run = scratch / "msgrate", scratch / "run"
        subprocess.run([compiler, "-O2", "-o", program, ROOT / "benches/msgrate.c"], check=True)
        iterations = int(millions * 1e6 / EVENTS_PER_MESSAGE / MESSAGES_PER_ITERATION) + 1
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        command = [launcher, "-n", "2", MEL, "run", "--trace", "-o", run, program, str(iterations)]
        subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = subprocess.Popen([MEL, "convert", "--text", "--calls", run], stdout=subprocess.PIPE)
        events = sum(block.count(b"\n") for block in iter(lambda: text.stdout.read(1 << 20), b""))
        text.wait()
        logs = sum(size(log) for log in run.glob("*.mlog"))
        print(f"{events / 1e6:.1f} million events, {logs / 1e6:.0f} MB of logs")
        over = []
        for name, options in (("page", ["report", "--html"]), ("pictures", ["report", "--png"]), ("perfetto", ["convert", "--perfetto"])):
            out = scratch / name
            seconds, memory = measured(MEL, *options, out, run)
            print(f"{name:9} {seconds:6.2f} s {memory / 2**20:6.0f} MiB {size(out) / 1e6:7.2f} MB")
            if name == "page" and (seconds > SECONDS or memory > GIBIBYTES * 2**30 or size(out) > MEGABYTES * 1e6):
                over.append(name)
        late = of_many_ranks(scratch)
        if late:
            sys.exit(f"of 100 000 ranks {' and '.join(late)} must take at most {MANY_SECONDS} s")
        if over:
            sys.exit(f"the page must take at most {SECONDS} s, {GIBIBYTES} GiB and {MEGABYTES} MB")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
