//! The consumer of what is moved below the calls: bytes by peer, and what connections carry.

use mel_log::Definition;
use mel_log::profile::{Ended, Port};
use mel_log::settings::counted;
use mel_log::table::ProfileTable;
use mpit_events::{Clock, EventIndex, Ticks};
use mpit_sources::netops::{self, NetOps};

use super::{Carried, Connections, rows};
use crate::consumer::{Consumer, Parts};
use crate::full::or_warn;
use crate::state::Run;

struct Net {
    netops: NetOps,
    carried: &'static Carried,
    connections: Connections,
}

/// The consumer of what is moved below the calls.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let netops = parts.netops.filter(|_| parts.config.carried)?;
    let carried = Carried::listen(parts.core, netops.event(), rows(parts));
    let carried = or_warn(carried, "what is moved below the calls is not counted")?;
    let net: &'static Net = Box::leak(Box::new(Net { netops, carried, connections: Connections::default() }));
    netops.observe_connections(&net.connections);
    Some(net)
}

impl Consumer for Net {
    fn attach(&'static self, table: &ProfileTable) {
        self.carried.rows().begin(table.clone());
        self.connections.begin(table.clone());
    }

    fn begin(&'static self, run: &'static Run) {
        run.samples().into_iter().for_each(|samples| self.connections.log(samples));
    }

    fn hears(&self, event: EventIndex) -> bool {
        event == self.netops.event()
    }

    fn clear(&self, _: u64) {
        self.connections.clear();
    }

    fn settle(&self, run: &Run, _: Ended, _: Ticks) {
        // What the interfaces of this host have counted themselves.
        let Some(table) = &run.table else { return };
        let ports = self.netops.ports();
        if run.recorder.is_some() {
            let since = table.header().runs_since.get();
            self.connections.log_ports(&ports, (since, Clock::best().now().0));
        }
        ports.into_iter().for_each(|of| table.define(&Definition::Port(port(of))));
    }

    fn counted(&self) -> Option<&'static str> {
        Some(counted::NET)
    }
}

/// As the profile has it.
fn port(of: netops::Port) -> Port {
    Port {
        interface: of.interface,
        link: of.link.into(),
        bytes_sent: of.sent,
        bytes_received: of.received,
        packets_sent: of.packets_sent,
        packets_received: of.packets_received,
        errors: of.errors,
        dropped: of.dropped,
        waits: of.waits,
        lid: of.lid,
        bits_per_s: of.bits_per_s,
    }
}
