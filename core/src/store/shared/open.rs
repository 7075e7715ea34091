//! Opening a table: the first process makes it, all others map it.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use std::{fmt, mem, thread};

use arc_swap::ArcSwap;

use super::Table;
use super::mapping::{self, Mapping};
use super::members::Members;
use super::plan::{MOST_PROCESSES, Plan, header};
use crate::boot_clock;
use crate::fingerprint::{Keys, Secrets};
use crate::time::Micros;

/// "tidegate" as a number, so that a machine of the other byte order sees another one.
const MAGIC: u64 = u64::from_be_bytes(*b"tidegate");
/// Any change of the layout, or of what the numbers of an entry mean, counts one up.
const VERSION: u64 = 5;
const ENTRIES: usize = 250_000;
/// A sparse file of this many entries is as large as any file may be.
const MOST_ENTRIES: usize = 100_000_000;
/// The memory of a platform that processes share.
const DIRECTORY: &str = "/dev/shm";
const SCHEME: &str = "shm://";
/// The longest time for which a process waits for another one that makes the table.
const PATIENCE: Micros = 5_000_000;
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_NAME: usize = 100;

/// The tables of this process. They stay open: to close any handle of a file gives up what this process claims there.
static TABLES: LazyLock<ArcSwap<Vec<Arc<Table>>>> = LazyLock::new(ArcSwap::default);

/// The address of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    path: PathBuf,
    entries: Option<usize>,
}

/// The reason why there is no table.
#[derive(Debug)]
pub(crate) struct OpenError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must name a table that can be opened ({}: {})", self.path.display(), self.why)
    }
}

impl Address {
    /// `shm://name?entries=1000000`, or `shm:///path/of/a/file`; on error, the rest of "url must …".
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix(SCHEME).unwrap_or(url);
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = if name.starts_with('/') {
            if name.ends_with('/') || name.contains('\0') {
                return Err("must name a file behind shm://".to_owned());
            }
            PathBuf::from(name)
        } else {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.bytes().all(is_plain) {
                let problem = "must be shm:// and a name of letters, digits, - _ and ., at most 100 of them, or the path of a file";
                return Err(problem.to_owned());
            }
            Path::new(DIRECTORY).join(format!("tidegate-{}-{name}", mapping::user()))
        };
        let mut entries = None;
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let count = option.strip_prefix("entries=").map(str::parse::<usize>);
            entries = match count {
                Some(Ok(count)) if entries.is_none() && (1..=MOST_ENTRIES).contains(&count) => Some(count),
                Some(_) => return Err(format!("must have entries once, a whole number from 1 to {MOST_ENTRIES}")),
                None => return Err("must have no option but entries".to_owned()),
            };
        }
        Ok(Self { path, entries })
    }

    /// The path of the table that a URL names, where there is none. What else keeps it from being opened,
    /// [`open`](Self::open) tells.
    pub(crate) fn missing(url: &str) -> Option<PathBuf> {
        let Self { path, .. } = url.starts_with(SCHEME).then(|| Self::parse(url).ok())??;
        matches!(path.try_exists(), Ok(false)).then_some(path)
    }

    /// Opens the table, which may be new.
    pub(crate) fn open(&self) -> Result<Arc<Table>, OpenError> {
        let table = self.find_or_map().map_err(|why| OpenError { path: self.path.clone(), why })?;
        match self.entries {
            Some(entries) if entries != table.plan.entries => Err(OpenError {
                path: self.path.clone(),
                why: format!(
                    "it has {} entries, not {entries}: say so, or stop its processes and remove the file",
                    table.plan.entries
                ),
            }),
            _ => Ok(table),
        }
    }

    fn find_or_map(&self) -> Result<Arc<Table>, String> {
        let began = boot_clock::since_boot();
        loop {
            if let Some(table) = fs::symlink_metadata(&self.path).ok().and_then(|found| known(identity(&found))) {
                return Ok(table);
            }
            let file = open_file(&self.path)?;
            if let Err(why) = lock(&file, began) {
                mem::forget(file);
                return Err(why);
            }
            let found = file.metadata().map_err(told)?;
            // Who made it may have been another thread, or the file may have been replaced meanwhile.
            if let Some(table) = known(identity(&found)) {
                file.unlock().map_err(told)?;
                // To close it would give up what this process claims there.
                mem::forget(file);
                return Ok(table);
            }
            if !is_at(&self.path, identity(&found)) {
                continue;
            }
            let table = Arc::new(self.map(file)?);
            TABLES.rcu(|tables| {
                let mut tables = tables.to_vec();
                tables.push(table.clone());
                tables
            });
            table.file.unlock().map_err(told)?;
            return Ok(table);
        }
    }

    /// Maps the file, which is locked, and fills it first where there is no table in it of this start of the host.
    fn map(&self, mut file: File) -> Result<Table, String> {
        let found = file.metadata().map_err(told)?;
        owned(&found)?;
        let boot = boot_id()?;
        let plan = match read_header(&mut file, found.len(), boot)? {
            Some(plan) => plan,
            None => self.fill(&mut file, boot)?,
        };
        let mapping = Mapping::of(&file, plan.words()).map_err(told)?;
        let at = |at: usize| mapping.words()[at].load(Ordering::Acquire);
        let (epoch, secrets) = (at(header::EPOCH), Secrets::of_keys(keys_of(at)));
        mapping.words()[header::READY].store(1, Ordering::Release);
        let members = Members::new().map_err(told)?;
        members.join(&file, mapping.words()).map_err(told)?;
        crate::clock::prepare();
        Ok(Table {
            file,
            path: self.path.clone(),
            identity: identity(&found),
            mapping,
            members,
            plan,
            canary: secrets.canary(),
            secrets,
            epoch,
            counts: (0..plan.shards).map(|_| Default::default()).collect(),
            stuck: Default::default(),
        })
    }

    /// Makes a table in the file.
    #[expect(clippy::disallowed_methods, reason = "the anchor of the table's clock")]
    fn fill(&self, file: &mut File, boot: [u64; 2]) -> Result<Plan, String> {
        let plan = Plan::of(self.entries.unwrap_or(ENTRIES));
        io::Seek::rewind(file).map_err(told)?;
        let (bytes, backed) = (plan.words() * 8, plan.backed_words * 8);
        let no_room = |error: io::Error| {
            let needed = backed.div_ceil(1 << 20);
            format!("no room for {needed} MB ({error}): give it fewer entries, as in ?entries=10000, or more room")
        };
        file.set_len(0).map_err(told)?;
        mapping::reserve(file, 0, backed).map_err(|error| {
            // Else the next one would take it for something else.
            let _ = file.set_len(0);
            no_room(error)
        })?;
        file.set_len(bytes as u64).map_err(no_room)?;
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let epoch = u64::try_from(since_epoch.as_micros()).unwrap_or(0).saturating_sub(boot_clock::since_boot());
        let mut words = [0_u64; header::WRITTEN];
        words[header::MAGIC] = MAGIC;
        words[header::VERSION] = VERSION;
        words[header::ARCHITECTURE] = architecture();
        words[header::WORDS] = plan.words() as u64;
        words[header::ENTRIES] = plan.entries as u64;
        random(&mut words[header::KEYS..])?;
        [words[header::CANARY], words[header::CANARY + 1]] = canary(&words);
        words[header::EPOCH] = epoch;
        words[header::BOOT..header::BOOT + 2].copy_from_slice(&boot);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        file.write_all(&bytes).map_err(told)?;
        Ok(plan)
    }
}

/// The plan of the table in a file; none where there is no table of this start of the host.
fn read_header(file: &mut File, len: u64, boot: [u64; 2]) -> Result<Option<Plan>, String> {
    if len == 0 {
        return Ok(None);
    }
    let mut bytes = [0; header::WRITTEN * 8];
    file.read_exact(&mut bytes).map_err(|_| foreign())?;
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    if words.iter().all(|word| *word == 0) && len >= (header::PROCESSES + MOST_PROCESSES) as u64 * 8 {
        // A process ended while it made the table.
        return Ok(None);
    }
    let magic = words[header::MAGIC];
    if magic == MAGIC.swap_bytes() {
        return Err("its table is of a machine of the other byte order: remove the file".to_owned());
    }
    if magic != MAGIC {
        return Err(foreign());
    }
    if words[header::BOOT..header::BOOT + 2] != boot || words[header::READY] == 0 {
        return Ok(None);
    }
    if words[header::VERSION] != VERSION {
        return Err(format!(
            "its table has layout {}, and this version of tidegate knows layout {VERSION}: use one version in all \
             processes, or stop them and remove the file",
            words[header::VERSION]
        ));
    }
    if words[header::ARCHITECTURE] != architecture() {
        return Err("its table was made by a process of another architecture: use one in all processes".to_owned());
    }
    if words[header::CANARY..header::CANARY + 2] != canary(&words) {
        let why = "its table was made by a process that hashes in another way, because it was compiled with another \
                   version of a library or for other processors: use one build in all processes, or stop them and \
                   remove the file";
        return Err(why.to_owned());
    }
    let entries = usize::try_from(words[header::ENTRIES]).map_err(|_| foreign())?;
    let plan = (1..=MOST_ENTRIES).contains(&entries).then(|| Plan::of(entries));
    let fits = |plan: &Plan| plan.words() as u64 == words[header::WORDS] && len == words[header::WORDS] * 8;
    plan.filter(fits).map(Some).ok_or_else(|| {
        format!(
            "its table should have {} bytes, and has {len}: stop its processes and remove the file",
            words[header::WORDS].saturating_mul(8)
        )
    })
}

fn foreign() -> String {
    "it is not a table of tidegate, and is left as it is".to_owned()
}

/// The bits of this architecture's name.
fn architecture() -> u64 {
    let name = std::env::consts::ARCH.as_bytes();
    name.iter().fold(0, |bits, byte| bits << 8 ^ bits >> 56 ^ u64::from(*byte))
}

fn open_file(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "it is a symbolic link, which is not followed".to_owned(),
        _ => told(error),
    })
}

/// Waits for another process that makes the table.
fn lock(file: &File, began: Micros) -> Result<(), String> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(told(error)),
            Err(TryLockError::WouldBlock) if boot_clock::since_boot() - began > PATIENCE => {
                return Err("another process holds it open and does not go on".to_owned());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
}

/// Refuses what others could write to.
fn owned(found: &Metadata) -> Result<(), String> {
    if found.file_type().is_fifo() || !found.is_file() {
        return Err("it is not a file".to_owned());
    }
    if found.uid() != mapping::user() {
        return Err(format!("it belongs to user {}, and this process to user {}", found.uid(), mapping::user()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!("its mode {:o} lets others in: make it 600", found.mode() & 0o777));
    }
    Ok(())
}

pub(super) fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// True if this path still leads to this file.
pub(super) fn is_at(path: &Path, file: (u64, u64)) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| identity(&found) == file)
}

fn known(file: (u64, u64)) -> Option<Arc<Table>> {
    TABLES.load().iter().find(|table| table.identity == file).cloned()
}

/// The identity of this start of the host.
fn boot_id() -> Result<[u64; 2], String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(told)?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).map_err(|error| format!("the host's boot id: {error}"))?;
    let [high, low] = [number >> 64, number & u128::from(u64::MAX)];
    Ok([u64::try_from(high).unwrap_or(0), u64::try_from(low).unwrap_or(0)])
}

fn random(words: &mut [u64]) -> Result<(), String> {
    let mut source = File::open("/dev/urandom").map_err(told)?;
    for word in words {
        let mut bytes = [0; 8];
        source.read_exact(&mut bytes).map_err(told)?;
        *word = u64::from_ne_bytes(bytes);
    }
    Ok(())
}

/// The keys of a header, of which this is a word.
fn keys_of(word: impl Fn(usize) -> u64) -> Keys {
    let mut at = header::KEYS;
    let mut next = || {
        at += 1;
        word(at - 1)
    };
    [(); 4].map(|()| [(); 2].map(|()| [(); 4].map(|()| next())))
}

/// The canary of a header.
#[allow(clippy::cast_possible_truncation, reason = "its halves")]
fn canary(words: &[u64]) -> [u64; 2] {
    let canary = Secrets::of_keys(keys_of(|at| words[at])).canary();
    [(canary >> 64) as u64, canary as u64]
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn told(error: io::Error) -> String {
    error.to_string()
}
