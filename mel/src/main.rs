//! The command `mel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mel::cli::main()
}
