"""Reads a run with the package mel_mpi, and prints what its tables have, as JSON."""

import json
import sys

import mel_mpi as mel

run = mel.read(sys.argv[1], estimated=True)
calls = run.calls
names = ["verdict", "ranks", "waits", "queues", "matrix", "variables"]
said = {name: getattr(run, name).num_rows for name in names}
said["units"] = {
    name: calls.schema.field(name).metadata[b"unit"].decode() for name in ("total_s", "bytes_sent", "calls")
}
# What was waited for is a part of the time, by rank; and the raw profile has the same calls.
raw = sum(call["calls"] for rank in run.json["ranks"] for call in rank["calls"])
said["sums_agree"] = sum(calls["calls"].to_pylist()) == raw
said["site"] = run.verdict["site"].to_pylist()[0]
print(json.dumps(said))
