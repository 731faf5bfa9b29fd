//! Checksums of what is written once and read by others: CRC-32 as in zip files, by the processor's own instructions where it has them.

/// The checksum of these bytes one after the other. It is never 0, which stands for none.
pub(crate) fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    pieces.into_iter().for_each(|piece| hasher.update(piece));
    not_none(hasher.finalize())
}

/// A checksum as it is stored.
pub(crate) fn not_none(sum: u32) -> u32 {
    sum.max(1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_that_of_zip_files_over_all_pieces() {
        assert_eq!(super::of([&b"1234"[..], b"56789"]), 0xcbf4_3926);
    }
}
