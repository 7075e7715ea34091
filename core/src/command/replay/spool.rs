//! The requests of a log once more, in a file that nobody else sees: a log may come from a pipe, which is read once.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::PathBuf;

use crate::command::output::Failure;
use crate::time::Micros;

const BUFFER: usize = 1 << 16;
const RECORD: usize = 12;

/// Actors by their numbers, with their instants, in order.
pub(super) struct Spool {
    file: BufWriter<File>,
    path: PathBuf,
    records: u64,
}

impl Spool {
    pub(super) fn create() -> io::Result<Self> {
        let name = format!("tidegate-{}-{:016x}", std::process::id(), ahash::RandomState::new().hash_one(0));
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        // Where an open file needs no name it is gone by itself, however this process ends.
        #[cfg(unix)]
        remove_file(&path)?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), path, records: 0 })
    }

    pub(super) fn push(&mut self, number: u32, at: Micros) -> io::Result<()> {
        let mut record = [0; RECORD];
        let (first, last) = record.split_at_mut(4);
        first.copy_from_slice(&number.to_le_bytes());
        last.copy_from_slice(&at.to_le_bytes());
        self.records += 1;
        self.file.write_all(&record)
    }

    /// Calls this with every request, in order.
    pub(super) fn each<E: From<io::Error>>(
        &mut self,
        mut request: impl FnMut(u32, Micros) -> Result<(), E>,
    ) -> Result<(), E> {
        self.file.flush()?;
        let mut file = self.file.get_ref();
        file.rewind()?;
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let (mut number, mut at) = ([0; 4], [0; 8]);
        for _ in 0..self.records {
            reader.read_exact(&mut number)?;
            reader.read_exact(&mut at)?;
            request(u32::from_le_bytes(number), Micros::from_le_bytes(at))?;
        }
        Ok(())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::of("temporary file", error)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !cfg!(unix) {
            let _ = remove_file(&self.path);
        }
    }
}
