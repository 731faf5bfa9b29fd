//! Sources: the control flows that events come from, and their clocks.

use std::ffi::c_int;

use mpi_abi::ToolSource;
use mpit_events::{Error, Ordering, Source};

use crate::args::{InOut, Out, Text};
use crate::compose::{self, Whose};
use crate::failure::numbers;
use crate::hints::{Hints, OutInfo};
use crate::init::ready;

entry_points! {
    /// The number of sources; it may grow, it never shrinks.
    fn MPI_T_source_get_num = PMPI_T_source_get_num(num_sources: Out<c_int>) {
        ready()?;
        num_sources.required()?.set(compose::num_sources());
        Ok(())
    }

    /// The description of a source. Outputs that are null are not given.
    fn MPI_T_source_get_info = PMPI_T_source_get_info[profiling](
        source_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        desc: Text,
        desc_len: InOut<c_int>,
        ordering: Out<c_int>,
        ticks_per_second: Out<i64>,
        max_ticks: Out<i64>,
        info: OutInfo,
    ) {
        let core = ready()?;
        let source = match compose::source(source_index, profiling)? {
            Whose::Ours(index) => as_mpi_tells(core.source(index).ok_or(Error::InvalidIndex)?),
            Whose::Mpi(mpi, index) => mpi.source(index)?,
        };
        info.give(&Hints::new())?;
        name.set(name_len, &source.name);
        desc.set(desc_len, &source.description);
        ordering.set(source.ordering);
        ticks_per_second.set(source.ticks_per_second);
        max_ticks.set(source.max_ticks);
        Ok(())
    }

    /// The time now, as an event of this source would have it.
    fn MPI_T_source_get_timestamp = PMPI_T_source_get_timestamp[profiling](
        source_index: c_int,
        timestamp: Out<i64>,
    ) {
        let core = ready()?;
        let whose = compose::source(source_index, profiling)?;
        let timestamp = timestamp.required()?;
        // What sources have collected that may not call back is not later than the time that is told.
        core.deliver_deferred();
        timestamp.set(match whose {
            Whose::Ours(index) => {
                let source = core.source(index).ok_or(Error::InvalidIndex)?;
                i64::try_from(source.now().since(source.origin())).unwrap_or(i64::MAX)
            }
            Whose::Mpi(mpi, index) => mpi.source_timestamp(index)?,
        });
        Ok(())
    }
}

/// A source of ours in MPI's numbers.
fn as_mpi_tells(source: &Source) -> ToolSource {
    let [ordered, unordered] = numbers().source_order;
    ToolSource {
        name: source.name.clone(),
        description: source.description.clone(),
        ordering: if source.ordering == Ordering::Ordered { ordered } else { unordered },
        ticks_per_second: i64::try_from(source.clock.ticks_per_second()).unwrap_or(i64::MAX),
        // Time stamps are 64 bits wide and start near zero: MPI_Count ends before they do.
        max_ticks: i64::MAX,
    }
}
