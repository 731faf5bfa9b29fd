//! Sources: the control flows that events come from, and their clocks.

use std::ffi::c_int;

use mpit_events::{Error, Ordering};

use crate::args::{InOut, Out, Text};
use crate::failure::numbers;
use crate::info::OutInfo;
use crate::init::ready;

entry_points! {
    /// The number of sources; it may grow, it never shrinks.
    fn MPI_T_source_get_num = PMPI_T_source_get_num(num_sources: Out<c_int>) {
        let core = ready()?;
        num_sources.required()?.set(core.num_sources() as c_int);
        Ok(())
    }

    /// The description of a source. Outputs that are null are not given.
    fn MPI_T_source_get_info = PMPI_T_source_get_info(
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
        let index = core.source_index(source_index.into())?;
        let source = core.source(index).ok_or(Error::InvalidIndex)?;
        info.give()?;
        name.set(name_len, &source.name);
        desc.set(desc_len, &source.description);
        let [ordered, unordered] = numbers().source_order;
        ordering.set(if source.ordering == Ordering::Ordered { ordered } else { unordered });
        ticks_per_second.set(i64::try_from(source.clock.ticks_per_second()).unwrap_or(i64::MAX));
        // Time stamps are 64 bits wide and start near zero: MPI_Count ends before they do.
        max_ticks.set(i64::MAX);
        Ok(())
    }

    /// The time now, as an event of this source would have it.
    fn MPI_T_source_get_timestamp = PMPI_T_source_get_timestamp(source_index: c_int, timestamp: Out<i64>) {
        let core = ready()?;
        let index = core.source_index(source_index.into())?;
        let source = core.source(index).ok_or(Error::InvalidIndex)?;
        let ticks = source.now().since(source.origin());
        timestamp.required()?.set(i64::try_from(ticks).unwrap_or(i64::MAX));
        Ok(())
    }
}
