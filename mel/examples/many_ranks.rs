//! Writes the profile of a run that never was: a halo exchange of very many ranks, one of which is slow. `mel report DIR` shows it.
//!
//! ```sh
//! cargo run --release -p mel --example many_ranks -- DIR [RANKS [SLOW]]
//! ```

use std::path::PathBuf;

use mel_log::profile::sample;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: many_ranks DIR [RANKS [SLOW]]");
        std::process::exit(2);
    };
    let mut number = |usual| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let ranks: u32 = number(100_000);
    let slow = number(ranks / 3).min(ranks.saturating_sub(1));
    std::fs::create_dir_all(&directory)?;
    sample::write_many(&directory, ranks, slow)
}
