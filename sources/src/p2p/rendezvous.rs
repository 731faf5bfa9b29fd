//! Processes of one node wait for each other without MPI.
//!
//! At the end of `MPI_Init*` our own collectives make progress. A process that leaves the last of them early begins to send,
//! and one that is still inside would take its messages in there, where the twin does not follow. So all meet once more
//! where nobody looks for messages.

use std::time::{Duration, Instant};

use super::routes::Routes;

/// How long the others may take. Nothing but where the first messages wait depends on them.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long to sleep before looking again.
const NAP: Duration = Duration::from_micros(20);

impl Routes {
    /// Waits until all `members` of the node have come, of which this is `own`: in as many rounds as `members` has
    /// binary digits, in each of which it greets one process and is greeted by another one. False where somebody has not
    /// come in time.
    pub(super) fn meet(&mut self, own: u32, members: u32) -> bool {
        let until = Instant::now() + PATIENCE;
        let (own, members) = (u64::from(own), u64::from(members));
        for round in (0..).take_while(|round| 1 << round < members) {
            self.greet(((own + (1 << round)) % members) as u32, round);
            while !self.is_greeted(round) {
                if Instant::now() > until {
                    return false;
                }
                std::thread::sleep(NAP);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::transport::ring::Ring;

    /// Processes of a node, all in this one.
    fn node(members: u32) -> Vec<Routes> {
        let rings: Vec<Ring> = (0..members).map(|_| Ring::create().unwrap()).collect();
        let found: Vec<_> = (0..).zip(rings.iter().map(|ring| ring.address().unwrap())).collect();
        let with = |ring| {
            let mut routes = Routes::default();
            routes.set_node(found.clone());
            routes.ring = Some(ring);
            routes
        };
        rings.into_iter().map(with).collect()
    }

    #[test]
    fn nobody_leaves_before_all_have_come() {
        for members in [1, 2, 3, 4, 7, 16] {
            let come = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for (own, mut routes) in (0..).zip(node(members)) {
                    let come = &come;
                    scope.spawn(move || {
                        std::thread::sleep(Duration::from_micros(u64::from(own % 3) * 300));
                        come.fetch_add(1, Ordering::SeqCst);
                        assert!(routes.meet(own, members));
                        assert_eq!(come.load(Ordering::SeqCst), members);
                    });
                }
            });
        }
    }

    #[test]
    fn who_waits_in_vain_goes_on() {
        assert!(!node(3)[1].meet(1, 3));
    }
}
