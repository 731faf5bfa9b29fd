//! Regions and attributes by what they stand for, so that all ranks share them.

use otf2_writer::{
    AttributeRef, AttributeValue, Definitions, Group, GroupMembers, GroupRef, MetricBase, MetricClass,
    MetricMember, MetricMode, MetricOccurrence, MetricOrigin, MetricRef, Paradigm, RecorderKind, Region,
    RegionRef, RegionRole, SystemTreeDomain, SystemTreeNode, SystemTreeNodeRef, Type,
};
use rustc_hash::FxHashMap;

use super::roles;
use crate::value::{Kind, Value};
use mel_log::Element;
use mel_log::definitions::SampledVariable;

/// What has been defined so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    hosts: FxHashMap<String, SystemTreeNodeRef>,
    groups: FxHashMap<Vec<u32>, GroupRef>,
    functions: FxHashMap<String, RegionRef>,
    regions: FxHashMap<String, RegionRef>,
    of_program: FxHashMap<String, RegionRef>,
    attributes: FxHashMap<(String, Type), AttributeRef>,
    metrics: FxHashMap<(String, String), MetricRef>,
    sampled: FxHashMap<(String, bool, bool), MetricRef>,
    queue_length: Option<AttributeRef>,
    unexpected_for: Option<AttributeRef>,
    call_site: Option<AttributeRef>,
}

impl Tables {
    /// The host of this name, in the machine.
    pub(super) fn host(&mut self, definitions: &mut Definitions, name: &str) -> SystemTreeNodeRef {
        let machine = SystemTreeNodeRef::from_raw(0);
        if self.hosts.is_empty() {
            let (name, class) = ("machine", "machine");
            definitions.system_tree_node(SystemTreeNode { name, class, parent: None });
            definitions.system_tree_node_domain(machine, SystemTreeDomain::Machine);
        }
        *self.hosts.entry(name.to_owned()).or_insert_with(|| {
            let node =
                definitions.system_tree_node(SystemTreeNode { name, class: "node", parent: Some(machine) });
            definitions.system_tree_node_domain(node, SystemTreeDomain::SharedMemory);
            node
        })
    }

    /// The group of these ranks of the world; of none: that of a process by itself.
    pub(super) fn group(&mut self, definitions: &mut Definitions, ranks: &[u32]) -> GroupRef {
        match self.groups.get(ranks) {
            Some(group) => *group,
            None => {
                let members =
                    if ranks.is_empty() { GroupMembers::CommSelf } else { GroupMembers::CommGroup(ranks) };
                let group = definitions.group(Group { name: "", paradigm: Paradigm::Mpi, members });
                self.groups.insert(ranks.to_vec(), group);
                group
            }
        }
    }

    /// The region of an MPI function.
    pub(super) fn function(&mut self, definitions: &mut Definitions, name: &str) -> RegionRef {
        get_or(&mut self.functions, name, || {
            let role = roles::of(name);
            definitions.region(Region { name, role, paradigm: Paradigm::Mpi, ..Region::default() })
        })
    }

    /// A region of the program of this name, wherever it lies.
    pub(super) fn program_region(&mut self, definitions: &mut Definitions, name: &str) -> RegionRef {
        get_or(&mut self.of_program, name, || {
            let (role, paradigm) = (RegionRole::Code, Paradigm::User);
            definitions.region(Region { name, role, paradigm, ..Region::default() })
        })
    }

    /// The length of a queue on the communicators of this name.
    pub(super) fn queue_metric(
        &mut self,
        definitions: &mut Definitions,
        queue: &str,
        communicator: &str,
    ) -> MetricRef {
        let key = (queue.to_owned(), communicator.to_owned());
        *self.metrics.entry(key).or_insert_with(|| define_length(definitions, queue, communicator))
    }

    /// A variable of this title.
    pub(super) fn sampled(
        &mut self,
        definitions: &mut Definitions,
        title: &str,
        variable: &SampledVariable,
    ) -> MetricRef {
        // Another process may have another one of this name.
        let key = (title.to_owned(), variable.counts(), variable.is_whole);
        *self.sampled.entry(key).or_insert_with(|| {
            define_metric(
                definitions,
                (title, &variable.description),
                if variable.counts() { MetricMode::AccumulatedStart } else { MetricMode::AbsolutePoint },
                (if variable.is_whole { Type::U64 } else { Type::F64 }, &variable.unit),
            )
        })
    }

    /// The attribute of a search: how long the queue was that it went through.
    pub(super) fn queue_length(&mut self, definitions: &mut Definitions) -> AttributeRef {
        let description = "entries in the queue, of this communicator, when the search began";
        *self
            .queue_length
            .get_or_insert_with(|| definitions.attribute("queue length", description, Type::U64))
    }

    /// The attribute of a receive: how long its message was in the unexpected queue.
    pub(super) fn unexpected_for(&mut self, definitions: &mut Definitions) -> AttributeRef {
        let description = "how long the message was in the unexpected queue, in nanoseconds";
        *self
            .unexpected_for
            .get_or_insert_with(|| definitions.attribute("unexpected for", description, Type::U64))
    }

    /// The attribute of a call: from where it comes.
    pub(super) fn call_site(&mut self, definitions: &mut Definitions) -> AttributeRef {
        let description =
            "from where the function was called: file, line and function, or what is known of them";
        *self.call_site.get_or_insert_with(|| definitions.attribute("call site", description, Type::String))
    }

    /// The region that an event type of this name begins.
    pub(super) fn region(
        &mut self,
        definitions: &mut Definitions,
        name: &str,
        description: &str,
    ) -> RegionRef {
        get_or(&mut self.regions, name, || {
            let role = RegionRole::Code;
            definitions.region(Region {
                name,
                description,
                role,
                paradigm: Paradigm::Mpi,
                ..Region::default()
            })
        })
    }

    /// The attribute of an element, and how to read its values; none if its datatype is not known.
    pub(super) fn attribute(
        &mut self,
        definitions: &mut Definitions,
        element: &Element,
    ) -> Option<(AttributeRef, Kind)> {
        let kind = Kind::of(&element.datatype)?;
        let value_type = match kind {
            Kind::Signed(8) => Type::I64,
            Kind::Signed(_) => Type::I32,
            Kind::Unsigned(8) => Type::U64,
            Kind::Unsigned(_) => Type::U32,
            Kind::Real(_) => Type::F64,
            Kind::Character => Type::U8,
        };
        let key = (element.name.clone(), value_type);
        let define = || {
            definitions.attribute(&element.name, "element of the event that begins the region", value_type)
        };
        Some((*self.attributes.entry(key).or_insert_with(define), kind))
    }
}

/// A value as an attribute of the type that [`Tables::attribute`] chose for its datatype.
pub(super) fn attribute_value(attribute: AttributeRef, value: Value) -> AttributeValue {
    match (attribute.value_type(), value) {
        (Type::I32, Value::Signed(value)) => AttributeValue::I32(value as i32),
        (Type::U32, Value::Unsigned(value)) => AttributeValue::U32(value as u32),
        (_, Value::Signed(value)) => AttributeValue::I64(value),
        (_, Value::Unsigned(value)) => AttributeValue::U64(value),
        (_, Value::Real(value)) => AttributeValue::F64(value),
        (_, Value::Character(value)) => AttributeValue::U8(value),
    }
}

fn get_or(
    map: &mut FxHashMap<String, RegionRef>,
    name: &str,
    define: impl FnOnce() -> RegionRef,
) -> RegionRef {
    match map.get(name) {
        Some(region) => *region,
        None => *map.entry(name.to_owned()).or_insert_with(define),
    }
}

/// Defines the length of a queue on a communicator.
fn define_length(definitions: &mut Definitions, queue: &str, communicator: &str) -> MetricRef {
    let name = format!("{queue}: {communicator}");
    let description = "length of the queue on this communicator";
    define_metric(definitions, (&name, description), MetricMode::AbsoluteNext, (Type::U64, "entries"))
}

/// Defines a metric of one number.
fn define_metric(
    definitions: &mut Definitions,
    (name, description): (&str, &str),
    mode: MetricMode,
    (value_type, unit): (Type, &str),
) -> MetricRef {
    let member = definitions.metric_member(MetricMember {
        name,
        description,
        origin: MetricOrigin::Other,
        mode,
        value_type,
        base: MetricBase::Decimal,
        exponent: 0,
        unit,
    });
    definitions.metric_class(MetricClass {
        members: &[member],
        occurrence: MetricOccurrence::Asynchronous,
        recorder: RecorderKind::Cpu,
    })
}
