//! Numbers, sessions and handles of several tools at once, beside a model that keeps one flat list and adds to every
//! started handle whenever something happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mpit_vars::{
    Bind, Class, Contents, Counted, Description, Element, Error, Numbered as _, Owner, Tally, Value,
    Variable, Variables, Verbosity, Whose,
};
use proptest::prelude::*;

/// Variables of ours of each kind; their number decides what they allow.
const OURS: usize = 4;

fn readonly(variable: usize) -> bool {
    variable == 1
}

fn continuous(variable: usize) -> bool {
    variable == 2
}

fn atomic(variable: usize) -> bool {
    variable != 3
}

struct Counting(Arc<AtomicU64>);

impl Tally for Counting {
    fn count(&self) -> usize {
        1
    }

    fn now(&mut self, into: &mut [u64]) {
        into[0] = self.0.load(Ordering::Relaxed);
    }
}

impl Variable for Counting {
    fn bind(&self, _: Option<u64>) -> Result<Box<dyn Value>, Error> {
        Ok(Box::new(Counted::new(Counting(self.0.clone()))))
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The MPI adds variables, and we do; a tool asks how many there are.
    Grow(usize, usize),
    Create(bool),
    FreeSession(usize),
    AllocOurs(usize, usize),
    AllocMpi(usize),
    Free(usize, usize),
    Happens(usize, u64),
    On(usize, usize, Use),
    OnAll(usize, Use),
}

#[derive(Clone, Copy, Debug)]
enum Use {
    Start,
    Stop,
    Read,
    ReadReset,
    Reset,
    Write(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let uses = prop_oneof![
        3 => Just(Use::Start),
        2 => Just(Use::Stop),
        3 => Just(Use::Read),
        1 => Just(Use::ReadReset),
        1 => Just(Use::Reset),
        1 => (0..100u64).prop_map(Use::Write),
    ];
    let on_all = prop_oneof![Just(Use::Start), Just(Use::Stop), Just(Use::Reset)];
    let (session, handle) = (0..6usize, 0..12usize);
    prop_oneof![
        1 => (0..3usize, 0..2usize).prop_map(|(mpi, ours)| Step::Grow(mpi, ours)),
        2 => any::<bool>().prop_map(Step::Create),
        1 => session.clone().prop_map(Step::FreeSession),
        4 => (session.clone(), 0..OURS).prop_map(|(session, variable)| Step::AllocOurs(session, variable)),
        2 => session.clone().prop_map(Step::AllocMpi),
        2 => (session.clone(), handle.clone()).prop_map(|(session, handle)| Step::Free(session, handle)),
        5 => (0..OURS, 1..100u64).prop_map(|(variable, more)| Step::Happens(variable, more)),
        12 => (session.clone(), handle, uses).prop_map(|(session, handle, what)| Step::On(session, handle, what)),
        2 => (session, on_all).prop_map(|(session, what)| Step::OnAll(session, what)),
    ]
}

#[derive(Clone, Debug)]
struct ModelSession {
    word: usize,
    mpi: Option<usize>,
    live: bool,
}

#[derive(Clone, Debug)]
struct ModelHandle {
    word: usize,
    session: usize,
    live: bool,
    /// With the variable, whether it is started, and the value; `None` for one of the MPI's.
    ours: Option<(usize, bool, u64)>,
}

#[derive(Default)]
struct Model {
    numbers: Vec<Owner>,
    sessions: Vec<ModelSession>,
    handles: Vec<ModelHandle>,
}

impl Model {
    /// The handle by its place in the list, which need not be of the session; a made-up one beyond the end.
    fn find(&mut self, session: usize, handle: usize) -> Result<&mut ModelHandle, Error> {
        let session = self.sessions.get(session).filter(|found| found.live).ok_or(Error::InvalidSession)?;
        let found = self.handles.get_mut(handle).filter(|found| found.live && found.session == session.word);
        found.ok_or(Error::InvalidHandle)
    }
}

/// What the standard has a use of one handle of ours do.
fn use_of(handle: &mut (usize, bool, u64), what: Use) -> Result<Option<u64>, Error> {
    let (variable, started, value) = handle;
    let writable = if readonly(*variable) { Err(Error::NoWrite) } else { Ok(()) };
    match what {
        Use::Start | Use::Stop if continuous(*variable) => return Err(Error::NoStartStop),
        Use::Start => *started = true,
        Use::Stop => *started = false,
        Use::Read => return Ok(Some(*value)),
        Use::ReadReset => {
            writable?;
            if !atomic(*variable) {
                return Err(Error::NoAtomic);
            }
            return Ok(Some(std::mem::take(value)));
        }
        Use::Reset => {
            writable?;
            *value = 0;
        }
        Use::Write(new) => {
            writable?;
            *value = new;
        }
    }
    Ok(None)
}

fn number(contents: Contents<'_>) -> u64 {
    match contents {
        Contents::Numbers(&[number]) => number,
        other => panic!("{other:?}"),
    }
}

/// The same with the real one.
fn really(variables: &Variables, session: usize, handle: usize, what: Use) -> Result<Option<u64>, Error> {
    let handle = match variables.handle(session, handle)? {
        Whose::Ours(handle) => handle,
        Whose::Mpi(_) => return Ok(None),
    };
    match what {
        Use::Start => handle.start().map(|()| None),
        Use::Stop => handle.stop().map(|()| None),
        Use::Read => handle.read(number).map(Some),
        Use::ReadReset => handle.read_reset(number).map(Some),
        Use::Reset => handle.reset().map(|()| None),
        Use::Write(value) => handle.write(Contents::Numbers(&[value])).map(|()| None),
    }
}

fn description(name: String, variable: usize) -> Description {
    Description {
        name: name.into(),
        description: "".into(),
        verbosity: Verbosity::UserBasic,
        class: Class::Counter,
        element: Element::UnsignedLong,
        bind: Bind::Nothing,
        readonly: readonly(variable),
        continuous: continuous(variable),
        atomic: atomic(variable),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn composition_agrees_with_a_naive_model(steps in proptest::collection::vec(step(), 1..80)) {
        let variables = Variables::default();
        let counts: Vec<Arc<AtomicU64>> = (0..OURS).map(|_| Arc::default()).collect();
        for (variable, count) in counts.iter().enumerate() {
            let added = variables.add(description(format!("v{variable}"), variable), Arc::new(Counting(count.clone())));
            prop_assert_eq!(added, Ok(variable));
        }
        let (mut of_mpi, mut ours) = (0, OURS);
        let mut model = Model::default();
        // As the MPI's words: addresses.
        let mut next_of_mpi = 0x7f00_0000_1000usize;
        let mut of_mpi_next = || { next_of_mpi += 0x40; next_of_mpi };
        for step in steps {
            match step {
                Step::Grow(mpi, more) => {
                    for _ in 0..more {
                        let name = format!("w{ours}");
                        let added = variables.add(description(name, 0), Arc::new(Counting(Arc::default())));
                        prop_assert_eq!(added, Ok(ours));
                        ours += 1;
                    }
                    of_mpi += mpi;
                    let missing = |owner: &Owner| !model.numbers.contains(owner);
                    let new: Vec<Owner> = (0..of_mpi)
                        .map(Owner::Mpi)
                        .chain((0..ours).map(Owner::Ours))
                        .filter(missing)
                        .collect();
                    model.numbers.extend(new);
                    prop_assert_eq!(variables.refresh(of_mpi), model.numbers.len());
                }
                Step::Create(with) => {
                    let mpi = with.then(&mut of_mpi_next);
                    let word = variables.create_session(mpi);
                    prop_assert!(model.sessions.iter().all(|other| other.word != word));
                    model.sessions.push(ModelSession { word, mpi, live: true });
                }
                Step::FreeSession(session) => {
                    let Some(found) = model.sessions.get_mut(session) else {
                        prop_assert_eq!(variables.free_session(session), Err(Error::InvalidSession));
                        continue;
                    };
                    let expected = if found.live { Ok(found.mpi) } else { Err(Error::InvalidSession) };
                    prop_assert_eq!(variables.free_session(found.word), expected);
                    found.live = false;
                    let ended = found.word;
                    model.handles.iter_mut().filter(|h| h.session == ended).for_each(|h| h.live = false);
                }
                Step::AllocOurs(session, variable) => {
                    let found = model.sessions.get(session);
                    let word = found.map_or(session, |found| found.word);
                    match variables.alloc(word, variable, None) {
                        Ok((handle, made)) => {
                            prop_assert!(found.is_some_and(|found| found.live));
                            prop_assert_eq!(made.count(), 1);
                            let ours = Some((variable, continuous(variable), 0));
                            model.handles.push(ModelHandle { word: handle, session: word, live: true, ours });
                        }
                        Err(error) => {
                            prop_assert!(found.is_none_or(|found| !found.live));
                            prop_assert_eq!(error, Error::InvalidSession);
                        }
                    }
                }
                Step::AllocMpi(session) => {
                    let Some(found) = model.sessions.get(session).filter(|found| found.mpi.is_some()) else { continue };
                    let (handle, word) = (of_mpi_next(), found.word);
                    let expected = if found.live { Ok(()) } else { Err(Error::InvalidSession) };
                    prop_assert_eq!(variables.add_handle_of_mpi(word, handle), expected);
                    if found.live {
                        model.handles.push(ModelHandle { word: handle, session: word, live: true, ours: None });
                    }
                }
                Step::Free(session, handle) => {
                    let words = words(&model, session, handle);
                    let freed = variables.free(words.0, words.1).map(|whose| matches!(whose, Whose::Ours(_)));
                    let expected = model.find(session, handle).map(|found| {
                        found.live = false;
                        found.ours.is_some()
                    });
                    prop_assert_eq!(freed, expected);
                }
                Step::Happens(variable, more) => {
                    counts[variable].fetch_add(more, Ordering::Relaxed);
                    for handle in model.handles.iter_mut().filter(|handle| handle.live) {
                        match &mut handle.ours {
                            Some((of, true, value)) if *of == variable => *value += more,
                            _ => {}
                        }
                    }
                }
                Step::On(session, handle, what) => {
                    let words = words(&model, session, handle);
                    let got = really(&variables, words.0, words.1, what);
                    let expected = model.find(session, handle).and_then(|found| match &mut found.ours {
                        Some(ours) => use_of(ours, what),
                        None => Ok(None),
                    });
                    prop_assert_eq!(got, expected, "{:?}", what);
                }
                Step::OnAll(session, what) => {
                    let Some(found) = model.sessions.get(session).cloned() else { continue };
                    let all = variables.all(found.word);
                    if !found.live {
                        prop_assert_eq!(all.map(|_| ()), Err(Error::InvalidSession));
                        continue;
                    }
                    let all = all.unwrap();
                    let live = |handle: &&mut ModelHandle| handle.live && handle.session == found.word;
                    let has_mpis = model.handles.iter_mut().filter(live).any(|handle| handle.ours.is_none());
                    prop_assert_eq!(all.mpi, found.mpi.filter(|_| has_mpis));
                    let done = match what {
                        Use::Start => all.start(),
                        Use::Stop => all.stop(),
                        _ => all.reset(),
                    };
                    // What cannot be done with a variable is no error here.
                    prop_assert_eq!(done, Ok(()));
                    for handle in model.handles.iter_mut().filter(live) {
                        let _ = handle.ours.as_mut().map(|ours| use_of(ours, what));
                    }
                }
            }
            for (number, owner) in model.numbers.iter().enumerate() {
                prop_assert_eq!(variables.owner(number as i32), Ok(*owner));
                prop_assert_eq!(variables.number_of(*owner), Some(number as i32));
            }
            prop_assert_eq!(variables.owner(model.numbers.len() as i32), Err(Error::InvalidIndex));
        }
        variables.end_all();
        for session in &model.sessions {
            prop_assert_eq!(variables.session_of_mpi(session.word), Err(Error::InvalidSession));
        }
    }
}

/// The words that a tool has for a session and a handle; made-up ones where there are none.
fn words(model: &Model, session: usize, handle: usize) -> (usize, usize) {
    let session = model.sessions.get(session).map_or(session, |found| found.word);
    (session, model.handles.get(handle).map_or(0x1234_5678 + handle, |found| found.word))
}
