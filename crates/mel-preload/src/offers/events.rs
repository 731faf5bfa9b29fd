//! Which event types there are, and who raises them.

use mel_log::offers::{EventType, Events};
use mpit_events::{BindKind, Clock, Core};
use mpit_sources::matching::Ob1Events;
use mpit_sources::rma::RmaEvents;
use mpit_sources::{Backend, Selection, choose, netops};

use super::library::Asked;

/// The queue events, those of windows and that of the transports, which this library offers on every MPI; then those of an MPI itself.
///
/// # Errors
/// The environment asks for what nothing is; the events core cannot hold them.
pub(super) fn all(mpi: Option<Asked>) -> Result<Events, String> {
    let wish = Selection::from_environment()?;
    let peruse = mpi.as_ref().map_or(mpit_sources::Offer::Absent, |asked| asked.peruse.clone());
    let backends = choose(&wish, &peruse);
    let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
    let mut types =
        ours(&names.join(", ")).map_err(|error| format!("the event types cannot be listed: {error:?}"))?;
    let native = mpi.iter().flat_map(|asked| &asked.types);
    types.extend(native.map(|event_type| described(event_type, "native")));
    Ok(Events {
        types,
        alias: netops::ALIAS.into(),
        backends: backends.iter().map(|&backend| (backend.name().into(), describe(backend).into())).collect(),
        all_backends: [Backend::Model, Backend::Peruse].map(|backend| backend.name().to_owned()).into(),
        is_tsc: Clock::best() == Clock::Tsc,
        mpi: mpi.map(|asked| asked.library),
    })
}

/// Those of this library; those of queues have this source.
fn ours(source: &str) -> Result<Vec<EventType>, mpit_events::Error> {
    let core = Core::new();
    Ob1Events::register(&core, "")?;
    RmaEvents::register(&core)?;
    netops::register(&core)?;
    let source = |event_type: &mpit_events::EventType| match event_type.bind {
        BindKind::Win => "rma",
        BindKind::None => "netops",
        _ => source,
    };
    Ok(core.event_types().map(|(_, event_type)| described(event_type, source(event_type))).collect())
}

/// What a backend is, in a few words.
fn describe(backend: Backend) -> &'static str {
    match backend {
        Backend::Model => "a model of the matching in ob1; on every MPI, whatever that offers itself",
        Backend::Peruse => "Open MPI's ob1 itself reports what its queues do",
    }
}

fn described(event_type: &mpit_events::EventType, source: &str) -> EventType {
    EventType {
        name: event_type.name.clone(),
        description: event_type.description.clone(),
        elements: event_type.elements.iter().map(|element| element.name.to_string()).collect(),
        bind: event_type.bind.mpi_name().to_owned(),
        source: source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_offered() {
        let types = ours("model").unwrap();
        let (queues, others) = types.split_at(16);
        let (windows, transports) = others.split_at(13);
        assert!(queues.iter().all(|of| of.name.starts_with("pml_ob1_") && of.bind == "MPI_COMM"));
        assert!(windows.iter().all(|of| of.name.starts_with("osc_rdma_") && of.bind == "MPI_WIN"));
        assert_eq!((windows.len(), windows[0].source.as_str()), (13, "rma"));
        assert_eq!((transports.len(), transports[0].name.as_str()), (1, "btl_netop"));
        assert_eq!((transports[0].bind.as_str(), transports[0].source.as_str()), ("", "netops"));
        let arrived = types.iter().find(|of| of.name == "pml_ob1_message_arrived").unwrap();
        assert_eq!(arrived.elements, ["context id", "source", "tag", "sequence number"]);
    }
}
