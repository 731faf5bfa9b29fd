//! What several processes define alike becomes one: along the tree of the processes, in the order of their ranks, so that
//! the result is what one process would have that defines the same.

use std::{collections::HashMap, hash::Hash};

use ranks::tree::{self, Tree};
use ranks::{CommunicationError, Processes};
use serde::{Deserialize, Serialize};

use super::group::Runs;
use super::{
    AttributeRecord, CommRecord, GroupRecord, MetricClassRecord, MetricMemberRecord, ParadigmRecord,
    PropertyRecord, RegionRecord, RmaWinRecord, Shared, SystemTreeNodeRecord,
};
use crate::{
    refs::{
        CommRef, GroupRef, MarkerRef, MetricMemberRef, MetricRef, RegionRef, StringRef, SystemTreeNodeRef,
    },
    value::AttributeValue,
};

/// The numbers of definitions elsewhere, by their numbers here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mapping {
    pub(crate) strings: Vec<u32>,
    pub(crate) attributes: Vec<u32>,
    pub(crate) nodes: Vec<u32>,
    pub(crate) regions: Vec<u32>,
    pub(crate) groups: Vec<u32>,
    pub(crate) communicators: Vec<u32>,
    pub(crate) windows: Vec<u32>,
    pub(crate) metric_members: Vec<u32>,
    pub(crate) metrics: Vec<u32>,
    pub(crate) markers: Vec<u32>,
}

/// A number that is not defined stays what it is: readers complain of it as they would without a mapping.
fn map(table: &[u32], number: u32) -> u32 {
    table.get(number as usize).copied().unwrap_or(number)
}

macro_rules! mapped {
    ($($name:ident($table:ident): $reference:ident;)*) => {
        impl Mapping {
            $(pub(crate) fn $name(&self, reference: $reference) -> $reference {
                $reference(map(&self.$table, reference.0))
            })*
        }
    };
}

mapped! {
    string(strings): StringRef;
    node(nodes): SystemTreeNodeRef;
    region(regions): RegionRef;
    group(groups): GroupRef;
    communicator(communicators): CommRef;
    metric_member(metric_members): MetricMemberRef;
    metric(metrics): MetricRef;
    marker(markers): MarkerRef;
}

impl Mapping {
    /// Each number is its own.
    fn same(shared: &Shared) -> Self {
        let same = |count: usize| (0..count as u32).collect();
        Self {
            strings: same(shared.strings.iter().count()),
            attributes: same(shared.attributes.len()),
            nodes: same(shared.system_tree.len()),
            regions: same(shared.regions.len()),
            groups: same(shared.groups.len()),
            communicators: same(shared.communicators.len()),
            windows: same(shared.windows.len()),
            metric_members: same(shared.metric_members.len()),
            metrics: same(shared.metric_classes.len()),
            markers: same(shared.markers.len()),
        }
    }

    /// This mapping, and then another one.
    fn then(mut self, next: &Self) -> Self {
        let Self { strings, attributes, nodes, regions, groups, .. } = next;
        let Self { communicators, windows, metric_members, metrics, markers, .. } = next;
        let tables = [
            (&mut self.strings, strings),
            (&mut self.attributes, attributes),
            (&mut self.nodes, nodes),
            (&mut self.regions, regions),
            (&mut self.groups, groups),
            (&mut self.communicators, communicators),
            (&mut self.windows, windows),
            (&mut self.metric_members, metric_members),
            (&mut self.metrics, metrics),
            (&mut self.markers, markers),
        ];
        for (table, next) in tables {
            table.iter_mut().for_each(|number| *number = map(next, *number));
        }
        self
    }

    pub(crate) fn value(&self, value: AttributeValue) -> AttributeValue {
        match value {
            AttributeValue::String(string) => AttributeValue::String(self.string(string)),
            AttributeValue::Region(region) => AttributeValue::Region(self.region(region)),
            AttributeValue::Group(group) => AttributeValue::Group(self.group(group)),
            AttributeValue::Metric(metric) => AttributeValue::Metric(self.metric(metric)),
            AttributeValue::Comm(comm) => AttributeValue::Comm(self.communicator(comm)),
            other => other,
        }
    }
}

/// Brings the definitions of all processes together. Rank 0 gets all of them. Each process gets the numbers that its own
/// have there.
///
/// # Errors
/// Where the communication fails.
pub(crate) fn unify(processes: &dyn Processes, own: Shared) -> Result<(Shared, Mapping), CommunicationError> {
    if processes.size() == 1 {
        let mapping = Mapping::same(&own);
        return Ok((own, mapping));
    }
    let mut all = Unified::default();
    let own = all.add(own);
    let (tree, mut children) = (Tree::of(processes), Vec::new());
    for child in tree.children().map(|below| below.start) {
        let part: Shared = tree::decode(&processes.receive(child)?)?;
        children.push((child, all.add(part)));
    }
    let to_global = match tree.parent() {
        Some(parent) => {
            processes.send(parent, tree::encode(&all.shared)?)?;
            tree::decode(&processes.receive(parent)?)?
        }
        None => Mapping::same(&all.shared),
    };
    for (child, mapping) in children {
        processes.send(child, tree::encode(&mapping.then(&to_global))?)?;
    }
    processes.flush()?;
    Ok((all.shared, own.then(&to_global)))
}

/// Definitions to which others are added, each once.
#[derive(Default)]
struct Unified {
    shared: Shared,
    attributes: HashMap<AttributeRecord, u32>,
    nodes: HashMap<(StringRef, StringRef, Option<SystemTreeNodeRef>), u32>,
    regions: HashMap<RegionRecord, u32>,
    groups: HashMap<GroupRecord, u32>,
    communicators: HashMap<CommRecord, u32>,
    windows: HashMap<RmaWinRecord, u32>,
    metric_members: HashMap<MetricMemberRecord, u32>,
    metrics: HashMap<MetricClassRecord, u32>,
    markers: HashMap<(String, String), u32>,
}

/// The number of a record: that of a known one with this key, or the next.
fn place<K: Hash + Eq, R>(records: &mut Vec<R>, known: &mut HashMap<K, u32>, key: K, record: R) -> u32 {
    *known.entry(key).or_insert_with(|| {
        records.push(record);
        records.len() as u32 - 1
    })
}

impl Unified {
    /// Adds what is new in a part; gives the numbers of all that is in it.
    fn add(&mut self, part: Shared) -> Mapping {
        let Shared {
            strings,
            attributes,
            paradigms,
            system_tree,
            node_properties,
            regions,
            groups,
            communicators,
            windows,
            metric_members,
            metric_classes,
            markers,
        } = part;
        let all = &mut self.shared;
        let strings = Vec::from(strings).into_iter().map(|text| all.strings.intern_text(text).0);
        let mut to = Mapping { strings: strings.collect(), ..Mapping::default() };
        for record in attributes {
            let (name, description) = (to.string(record.name), to.string(record.description));
            let record = AttributeRecord { name, description, ..record };
            to.attributes.push(place(&mut all.attributes, &mut self.attributes, record.clone(), record));
        }
        for record in paradigms {
            if all.paradigms.iter().all(|known| known.paradigm != record.paradigm) {
                let comm_name_template = record.comm_name_template.map(|text| to.string(text));
                all.paradigms.push(ParadigmRecord {
                    name: to.string(record.name),
                    comm_name_template,
                    ..record
                });
            }
        }
        for SystemTreeNodeRecord { name, class, parent, domains } in system_tree {
            let (name, class) = (to.string(name), to.string(class));
            let parent = parent.map(|parent| to.node(parent));
            let record = SystemTreeNodeRecord { name, class, parent, domains: Vec::new() };
            let number = place(&mut all.system_tree, &mut self.nodes, (name, class, parent), record);
            let known = &mut all.system_tree[number as usize].domains;
            for domain in domains {
                if !known.contains(&domain) {
                    known.push(domain);
                }
            }
            to.nodes.push(number);
        }
        for record in regions {
            let record = RegionRecord {
                name: to.string(record.name),
                canonical_name: to.string(record.canonical_name),
                description: to.string(record.description),
                source_file: to.string(record.source_file),
                ..record
            };
            to.regions.push(place(&mut all.regions, &mut self.regions, record.clone(), record));
        }
        for record in groups {
            let members = match record.of_regions() {
                true => Runs::of(record.members.iter().map(|region| map(&to.regions, region as u32).into())),
                false => record.members,
            };
            let record = GroupRecord { name: to.string(record.name), members, ..record };
            to.groups.push(place(&mut all.groups, &mut self.groups, record.clone(), record));
        }
        for record in communicators {
            let record = CommRecord {
                name: to.string(record.name),
                group: to.group(record.group),
                other_group: record.other_group.map(|group| to.group(group)),
                parent: record.parent.map(|parent| to.communicator(parent)),
                ..record
            };
            let number = place(&mut all.communicators, &mut self.communicators, record.key(), record);
            to.communicators.push(number);
        }
        for record in windows {
            let (name, comm) = (to.string(record.name), to.communicator(record.comm));
            let record = RmaWinRecord { name, comm, ..record };
            to.windows.push(place(&mut all.windows, &mut self.windows, record.clone(), record));
        }
        for record in metric_members {
            let record = MetricMemberRecord {
                name: to.string(record.name),
                description: to.string(record.description),
                unit: to.string(record.unit),
                ..record
            };
            let number = place(&mut all.metric_members, &mut self.metric_members, record.clone(), record);
            to.metric_members.push(number);
        }
        for record in metric_classes {
            let members = record.members.iter().map(|member| to.metric_member(*member)).collect();
            let record = MetricClassRecord { members, ..record };
            to.metrics.push(place(&mut all.metric_classes, &mut self.metrics, record.clone(), record));
        }
        for record in markers {
            let key = (record.group.clone(), record.category.clone());
            to.markers.push(place(&mut all.markers, &mut self.markers, key, record));
        }
        for PropertyRecord { owner, name, value } in node_properties {
            let property =
                PropertyRecord { owner: to.node(owner), name: to.string(name), value: to.value(value) };
            if !all.node_properties.contains(&property) {
                all.node_properties.push(property);
            }
        }
        to
    }
}

#[cfg(test)]
mod tests;
