//! The streams of a rank in the order of time.

use std::iter::Peekable;

use mel_log::reader::Records;
use mel_log::{RankLog, Record};

/// Records of several streams, merged by their time stamps. The order within a stream is kept, even
/// where its time stamps go back.
#[derive(Debug)]
pub struct Merged<'a> {
    streams: Vec<(u32, Peekable<Records<'a>>)>,
}

impl<'a> Merged<'a> {
    /// Merges the given streams of a log.
    pub fn new(log: &'a RankLog, streams: impl IntoIterator<Item = u32>) -> Merged<'a> {
        Merged { streams: streams.into_iter().map(|s| (s, log.records(s).peekable())).collect() }
    }
}

impl<'a> Iterator for Merged<'a> {
    /// The number of the stream, and the record.
    type Item = (u32, Record<'a>);

    fn next(&mut self) -> Option<(u32, Record<'a>)> {
        // A rank has a few streams: looking at each is cheaper than keeping a heap in order.
        let heads = self.streams.iter_mut().enumerate();
        let (_, next) = heads.filter_map(|(i, (_, records))| Some((records.peek()?.time, i))).min()?;
        let (stream, records) = &mut self.streams[next];
        Some((*stream, records.next()?))
    }
}
