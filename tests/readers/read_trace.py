"""Reads the trace of a run with the package mel_mpi, and prints what its tables have, as JSON."""

import json
import sys

import mel_mpi as mel
import pyarrow.compute as compute

run = mel.read(sys.argv[1], estimated=True)
trace = run.trace


def by(table, keys, value=None):
    """Rows for each value of these columns, or the sum of another column."""
    grouped = table.group_by(keys).aggregate([(value, "sum") if value else ([], "count_all")])
    *names, number = (grouped.column(place).to_pylist() for place in range(grouped.num_columns))
    if grouped.schema.names[0] not in keys:
        # Whether keys or sums come first is another one in each release.
        names, number = [*names[1:], number], names[0]
    return {" ".join(map(str, key)): of for *key, of in zip(*names, number)}


first = trace.directory.joinpath("calls.parquet").stat().st_mtime_ns
tables = {name: getattr(trace, name) for name in ("calls", "messages", "collectives", "searches", "samples")}
calls, messages = tables["calls"], tables["messages"]
received = messages.filter(compute.equal(messages["direction"], "received"))
json.dump(
    {
        "rows": {name: table.num_rows for name, table in tables.items()},
        "calls": by(calls, ["rank", "function"]),
        "profile_calls": by(run.calls, ["rank", "function"], "calls"),
        "time": by(calls, ["rank"], "duration_s"),
        "profile_time": by(run.calls, ["rank"], "total_s"),
        "sites": sorted(set(map(str, calls["site"].to_pylist()))),
        "profile_sites": sorted(set(map(str, run.calls["site"].to_pylist()))),
        "communicators": sorted(set(map(str, messages["communicator"].to_pylist()))),
        "profile_communicators": [of["name"] for of in run.json["communicators"]],
        "messages": by(messages, ["direction", "rank"]),
        "bytes": by(messages, ["direction", "rank"], "bytes"),
        "peers": by(messages, ["direction", "rank", "peer"], "bytes"),
        "unexpected": by(received.filter(received["unexpected_s"].is_valid()), ["rank"]),
        "collective_bytes": by(tables["collectives"], ["rank"], "bytes_sent"),
        "searches": by(tables["searches"], ["rank", "search"]),
        "samples": by(tables["samples"], ["variable", "unit"]),
        "units": {
            f"{name}.{field.name}": field.metadata[b"unit"].decode()
            for name, table in tables.items()
            for field in table.schema
            if field.metadata and b"unit" in field.metadata
        },
        "types": {field.name: str(field.type) for field in calls.schema},
        "converted_once": mel.Trace(run.directory).directory.joinpath("calls.parquet").stat().st_mtime_ns == first,
    },
    sys.stdout,
)
