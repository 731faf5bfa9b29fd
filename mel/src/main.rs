//! The command `mel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mel_command::cli::main()
}
