"""Reads a Perfetto trace by the published definitions and prints what is in it as JSON.

What a trace must not have is listed as `faults`: fields that the definitions do not know, slices of a track that
cross, times that go back on a track's slices, names that were not defined before, flows that end without a beginning
or before it or between messages of different sizes, counters below zero.
"""

import collections
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

trace = protos.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

faults = []
processes, tracks, events = {}, {}, collections.defaultdict(list)
numbers, threads = {}, {}
names = collections.defaultdict(lambda: collections.defaultdict(dict))
slices, counters, instants = collections.Counter(), collections.Counter(), collections.Counter()
begins, ends = {}, {}
sizes = collections.defaultdict(set)
lengths = collections.defaultdict(list)
searched, epochs, operations, unexpected = [], [], [], []


def unknown(message, path):
    """Fields whose numbers the definitions do not have."""
    from google.protobuf import unknown_fields

    if len(unknown_fields.UnknownFieldSet(message)):
        faults.append(f"unknown field in {path}")
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in value if hasattr(value, "__len__") else [value]:
                unknown(each, f"{path}.{field.name}")


def name_of(sequence, kind, number):
    if number not in names[sequence][kind]:
        faults.append(f"{kind} {number} was not defined")
    return names[sequence][kind].get(number)


for number, packet in enumerate(trace.packet):
    # Looking at each field takes long, and the later ones are as the first.
    if number < 2000:
        unknown(packet, "packet")
    sequence = packet.trusted_packet_sequence_id
    if packet.sequence_flags & protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
        names[sequence].clear()
    for kind in ("event_names", "debug_annotation_names"):
        names[sequence][kind].update((name.iid, name.name) for name in getattr(packet.interned_data, kind))
    texts = packet.interned_data.debug_annotation_string_values
    names[sequence]["texts"].update((text.iid, text.str.decode()) for text in texts)
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        if track.HasField("process"):
            processes[track.uuid] = track.process.process_name
            numbers[track.process.pid] = track.uuid
        else:
            if track.HasField("thread"):
                if threads.setdefault(track.thread.tid, track.uuid) != track.uuid:
                    faults.append(f"thread {track.thread.tid} is two")
                if numbers.get(track.thread.pid) != track.parent_uuid:
                    faults.append(f"thread {track.thread.tid} is not one of its process")
            name = track.thread.thread_name if track.HasField("thread") else track.name
            tracks[track.uuid] = (processes.get(track.parent_uuid), name)
            if track.parent_uuid not in processes:
                faults.append(f"track {track.name} has no process")
    if packet.HasField("track_event"):
        event = packet.track_event
        if event.track_uuid not in tracks:
            faults.append(f"track {event.track_uuid} is not described")
        events[event.track_uuid].append((packet.timestamp, sequence, event))

Event = protos.TrackEvent
for uuid, all_of_track in events.items():
    process, track = tracks.get(uuid, (None, None))
    open_slices = []
    # As the trace processor: by time, and where that is the same, as they stand in the file.
    for time, sequence, event in sorted(all_of_track, key=lambda one: one[0]):
        annotations, messages = {}, []
        for annotation in event.debug_annotations:
            name = name_of(sequence, "debug_annotation_names", annotation.name_iid)
            if annotation.HasField("string_value_iid"):
                annotations[name] = name_of(sequence, "texts", annotation.string_value_iid)
            elif annotation.dict_entries:
                annotations[name] = len(annotation.dict_entries)
                entries = {name_of(sequence, "debug_annotation_names", one.name_iid): one for one in annotation.dict_entries}
                if "bytes" in entries and "tag" in entries:
                    messages.append(entries["bytes"].uint_value)
                if "unexpected_ns" in entries and event.type == Event.TYPE_SLICE_BEGIN:
                    unexpected.append(entries["unexpected_ns"].uint_value)
            else:
                annotations[name] = annotation.int_value if annotation.HasField("int_value") else annotation.uint_value
        if event.type in (Event.TYPE_SLICE_BEGIN, Event.TYPE_INSTANT):
            name = name_of(sequence, "event_names", event.name_iid)
            (slices if event.type == Event.TYPE_SLICE_BEGIN else instants)[f"{track}: {name}"] += 1
            for start, found in (("searches", searched), ("epochs", epochs), ("operations", operations)):
                if track.startswith(start):
                    found.append(annotations)
        if event.type == Event.TYPE_SLICE_BEGIN:
            open_slices.append(time)
        elif event.type == Event.TYPE_SLICE_END:
            if not open_slices:
                faults.append(f"{process}, {track}: an end without a beginning at {time}")
            else:
                open_slices.pop()
        elif event.type == Event.TYPE_COUNTER:
            counters[track] += 1
            value = event.counter_value if event.HasField("counter_value") else event.double_counter_value
            lengths[f"{process}, {track}"].append(value)
            if value < 0:
                faults.append(f"{process}, {track}: {value}")
        # Of a call with several messages nobody knows which is whose.
        for flow in (*event.flow_ids, *event.terminating_flow_ids):
            sizes[flow].update(messages if len(messages) == 1 else ())
        for flow in event.flow_ids:
            if begins.setdefault(flow, time) != time:
                faults.append(f"flow {flow} begins twice")
        for flow in event.terminating_flow_ids:
            if ends.setdefault(flow, time) != time:
                faults.append(f"flow {flow} ends twice")
    if open_slices:
        faults.append(f"{process}, {track}: {len(open_slices)} slices without an end")

for flow, time in ends.items():
    if flow not in begins:
        faults.append(f"flow {flow} has no beginning")
    elif begins[flow] > time:
        faults.append(f"flow {flow} goes back")
    if len(sizes[flow]) > 1:
        faults.append(f"flow {flow} joins messages of {sorted(sizes[flow])} bytes")

json.dump(
    {
        "processes": sorted(processes.values()),
        "slices": slices,
        "instants": instants,
        "counters": counters,
        "lengths": lengths,
        "flows": len(ends),
        "open_flows": len(begins) - len(ends),
        "search": searched[0] if searched else None,
        "threads": len(threads),
        "unexpected_ns": sum(unexpected),
        "operations": len(operations),
        "epoch_operations": sum(epoch["operations"] for epoch in epochs),
        "faults": sorted(set(faults))[:20],
    },
    sys.stdout,
)
