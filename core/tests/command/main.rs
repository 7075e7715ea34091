//! The command `tidegate`, run as a process.
#![cfg(feature = "cli")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod check;
mod fit;
mod overriding;
mod replay;
#[path = "../servers/mod.rs"]
mod servers;
mod simulate;
mod store;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The end of a process, with what it printed.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the command in the folder of the tests' files.
fn tidegate(arguments: &[&str]) -> Ended {
    fed(arguments, b"")
}

/// Runs the command with this standard input.
fn fed(arguments: &[&str], input: &[u8]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).current_dir(data("."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let input = input.to_vec();
    // A process that reads no input may be gone before it is written.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file of the tests.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/data").join(name)
}

/// A file that a test writes.
fn written(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn help_is_no_error_and_a_mistake_is_one() {
    let help = tidegate(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    assert!(help.out.contains("Usage: tidegate <COMMAND>"), "{}", help.out);
    assert_eq!(tidegate(&["--version"]).out, format!("tidegate {}\n", env!("CARGO_PKG_VERSION")));
    for wrong in [&["fly"][..], &[], &["check"], &["replay", "common.log"], &["replay", "--limits", "1/s"]] {
        let ended = tidegate(wrong);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{wrong:?}");
        assert!(ended.err.contains("Usage: tidegate"), "{}", ended.err);
    }
}
