"""Reads an OTF2 archive with the Python package `otf2` and prints how many records of each kind it has, as JSON.

Kinds are called as otf2-print calls them. Reads whatever a record refers to, as the trace analysis library Pipit does,
which reads OTF2 archives with this package.
"""

import collections
import json
import re
import sys

import otf2
from otf2.definitions import Comm, InterComm
from otf2.events import Metric


def mend_intercommunicators():
    """Versions 3.0.2 to 3.2 give an intercommunicator the fields of a communicator besides its own, `group` among them,
    which no record of one has: they can neither write nor read any."""
    shared = len(Comm._fields)
    InterComm._fields = Comm._fields[:1] + InterComm._fields[shared:]


def kind(record):
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", type(record).__name__).upper()


def looked_at(record):
    """A record, after all that it refers to has been read."""
    for field in getattr(record, "_fields", ()):
        repr(getattr(record, field.name if hasattr(field, "name") else field))
    return record


if "--as-it-is" not in sys.argv:
    mend_intercommunicators()
with otf2.reader.open(sys.argv[1]) as trace:
    definitions = collections.Counter()
    for name, registry in vars(trace.definitions).items():
        if name != "clock_properties" and hasattr(registry, "__iter__"):
            definitions.update(kind(looked_at(definition)) for definition in registry)
    values = collections.defaultdict(list)
    events, attributes, units = collections.defaultdict(collections.Counter), collections.Counter(), set()
    for location, event in trace.events:
        events[location._ref][kind(event)] += 1
        repr(event)
        attributes.update(attribute.name for attribute in event.attributes or {})
        if isinstance(event, Metric):
            units.update(member.unit for member in event.metric.members)
            for member, value in zip(event.metric.members, event.values):
                values[f"{location.group.name}: {member.name}"].append(value)
json.dump(
    {
        "definitions": definitions,
        "events": events,
        "attributes": attributes,
        "units": sorted(units),
        "values": values,
    },
    sys.stdout,
)
