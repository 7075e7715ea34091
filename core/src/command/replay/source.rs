//! The bytes of a log, line by line: a file, a compressed one, or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

/// A longer line is no request's.
const LONGEST: u64 = 1 << 20;
const BUFFER: usize = 1 << 18;

/// An open log.
pub(in crate::command) struct Source {
    lines: Box<dyn BufRead>,
    progress: ProgressBar,
}

impl Source {
    /// The log of this name; `-` is standard input.
    pub(in crate::command) fn open(name: &str) -> io::Result<Self> {
        let (bytes, length): (Box<dyn Read>, _) = if name == "-" {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(name)?;
            let length = file.metadata()?.len();
            (Box::new(file), Some(length))
        };
        let style = match length {
            Some(_) => "{bar:40} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {bytes}, {elapsed}",
        };
        let progress = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let progress =
            progress.with_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        let mut bytes = BufReader::with_capacity(BUFFER, progress.wrap_read(bytes));
        let lines: Box<dyn BufRead> = if bytes.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(bytes)))
        } else {
            Box::new(bytes)
        };
        Ok(Self { lines, progress })
    }

    /// Reads the next line into a buffer; false at the end. Of a line without an end only the beginning is kept.
    pub(in crate::command) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let read = (&mut self.lines).take(LONGEST).read_until(b'\n', line)?;
        if read as u64 == LONGEST && line.last() != Some(&b'\n') {
            line.truncate(1);
            self.skip()?;
        }
        Ok(read > 0)
    }

    /// The rest of a line.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.lines.fill_buf()?;
            let (used, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (bytes.len(), bytes.is_empty()),
            };
            self.lines.consume(used);
            if ended {
                return Ok(());
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.progress.finish_and_clear();
    }
}
