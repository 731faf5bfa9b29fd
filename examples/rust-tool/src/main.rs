//! An application in Rust that listens to its own message queues and tunes itself: the same as
//! `examples/in-app`, with rsmpi and the crates of this workspace instead of the C functions.
//!
//! In each phase every rank gets a batch of messages from its left neighbour. A message whose receive
//! is posted already goes straight to its place; all others wait in the queue of unexpected messages.
//! Posting a receive early costs a buffer that is held for the whole phase, so the application begins
//! without, counts what came unexpected, and posts more receives early while that pays.

mod model;
mod unexpected;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use unexpected::Unexpected;

const PHASES: usize = 6;
const BATCH: usize = 32;
const LENGTH: usize = 256;

type Message = [f64; LENGTH];

/// One phase, with so many receives posted before anybody sends.
fn exchange(comm: &SimpleCommunicator, early: usize, received: &mut [Message], sent: &[Message]) {
    let (rank, size) = (comm.rank(), comm.size());
    let left = comm.process_at_rank((rank + size - 1) % size);
    let right = comm.process_at_rank((rank + 1) % size);
    mpi::request::scope(|scope| {
        let (first, rest) = received.split_at_mut(early);
        let mut receives = Vec::with_capacity(BATCH);
        for (message, tag) in first.iter_mut().zip(0..) {
            receives.push(left.immediate_receive_into_with_tag(scope, &mut message[..], tag));
        }
        comm.barrier();
        let tagged = sent.iter().zip(0..);
        let sends: Vec<_> =
            tagged.map(|(message, tag)| right.immediate_send_with_tag(scope, &message[..], tag)).collect();
        // Here an application computes; the messages come meanwhile.
        comm.barrier();
        for (message, tag) in rest.iter_mut().zip(early as i32..) {
            receives.push(left.immediate_receive_into_with_tag(scope, &mut message[..], tag));
        }
        receives.into_iter().for_each(|receive| receive.wait_without_status());
        sends.into_iter().for_each(|send| send.wait_without_status());
    });
}

fn main() {
    let model = model::prepare();
    let universe = mpi::initialize().expect("MPI is initialised once, here");
    let model = model.and_then(model::start);

    // A communicator of its own, so that libraries' messages are not counted.
    let field = universe.world().duplicate();
    let root = field.process_at_rank(0);
    let unexpected = Unexpected::listen(&field);
    if let (0, Err(error)) = (field.rank(), &unexpected) {
        println!("nothing is tuned: {error}");
    }

    let mut early = 0;
    let (mut received, sent) = (vec![[0.0; LENGTH]; BATCH], vec![[1.0; LENGTH]; BATCH]);
    for phase in 0..PHASES {
        exchange(&field, early, &mut received, &sent);
        let Ok(unexpected) = &unexpected else { continue };
        let (mine, mut all) = (unexpected.take(), 0);
        if field.rank() == 0 {
            root.reduce_into_root(&mine, &mut all, SystemOperation::sum());
            let of = BATCH as i32 * field.size();
            println!("phase {phase}: {early:2} receives posted early, {all:3} of {of} messages unexpected");
        } else {
            root.reduce_into(&mine, SystemOperation::sum());
        }
        // Each rank decides for itself: more than an eighth is worth some buffers.
        if mine as usize > BATCH / 8 {
            early = if early == 0 { BATCH / 8 } else { BATCH.min(2 * early) };
        }
    }

    drop(unexpected);
    drop(field);
    if let Some(model) = model {
        model.finish();
    }
}
