//! The store in memory that processes share: beside the one in memory, when it is full, and files that are no table.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidegate::remote::Failure;
use tidegate::remote::backend::Settings;
use tidegate::{AnyStore, Call, Check, Error, Limit, Limiter, Memory};

/// A limiter over a table that no other test uses, and whose file is gone.
pub(crate) fn fresh(entries: usize) -> Limiter {
    let limiter = open(&url(entries)).expect("a table");
    fs::remove_file(limiter.shared_file().expect("a file")).expect("it is gone");
    limiter
}

fn number() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn url(entries: usize) -> String {
    format!("shm://test-{}?entries={entries}", number())
}

/// A path in a folder of the test's own.
fn path() -> PathBuf {
    std::env::temp_dir().join(format!("tidegate-test-{}", number()))
}

fn open(url: &str) -> Result<Limiter, String> {
    // A machine that is busy with other tests is no reason to decide without the table.
    let settings = Settings::default().timeout(Duration::from_secs(20));
    AnyStore::shm(url, settings).map(Limiter::new).map_err(|error| error.to_string())
}

fn at(path: &Path, entries: usize) -> Result<Limiter, String> {
    open(&format!("shm://{}?entries={entries}", path.display()))
}

fn hourly(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(Duration::from_hours(1)).build().expect("a bucket")
}

#[test]
fn two_handles_are_one_table_and_a_namespace_is_apart() {
    let url = url(100);
    let [one, other] = [open(&url).expect("a table"), open(&url).expect("the same")];
    let door = hourly("door", 2);
    assert!(one.limit_sync(&door, "ada").expect("an answer").allowed());
    assert!(other.limit_sync(&door, "ada").expect("an answer").allowed());
    assert!(one.limit_sync(&door, "ada").expect("an answer").blocked);
    assert!(one.namespace("elsewhere").limit_sync(&door, "ada").expect("an answer").allowed());
    let stats = other.stats();
    assert_eq!((stats.entries, stats.evictions, stats.processes), (2, 0, 1));
    assert_eq!((stats.decisions, stats.admitted, stats.blocked), (4, 3, 1));
    assert!(one.is_shared() && one.url() == url.split('?').next().expect("a URL"));
    assert!(one.ping_sync().is_ok());
    assert_eq!(one.clear_sync(), Ok(2));
    assert!(other.limit_sync(&door, "ada").expect("an answer").allowed());
    assert!(open(&url.replace("=100", "=101")).expect_err("another size").contains("100 entries, not 101"));
    fs::remove_file(one.shared_file().expect("a file")).expect("it is gone");
    let Err(Error::Store(error)) = one.ping_sync() else { panic!("others use another file now") };
    assert_eq!(error.failure(), Failure::Disconnected);
    assert!(one.limit_sync(&door, "ada").expect("its own goes on").allowed());
}

#[test]
fn threads_on_one_key_get_what_there_is() {
    let limiter = fresh(1000);
    let (door, log) =
        (hourly("door", 1000), Limit::sliding_log("log", 700, Duration::from_hours(1)).build().expect("a log"));
    let ask = || {
        let one = (0..400).filter(|_| limiter.limit_sync(&door, "ada").expect("an answer").allowed()).count();
        (one, (0..200).filter(|_| limiter.limit_sync(&log, "ada").expect("an answer").allowed()).count())
    };
    let admitted = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(ask));
        threads
            .map(|thread| thread.join().expect("a thread"))
            .into_iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    assert_eq!(admitted, (1000, 700));
    assert_eq!(tidegate::ffi::check_shared(&limiter), Ok(Vec::new()));
}

#[test]
fn a_full_table_denies_early_and_forgets_nobody() {
    let (limiter, memory) = (fresh(10), Limiter::new(Memory::with_max_entries(10)));
    let login = hourly("login", 3);
    for limiter in [&limiter, &memory] {
        for _ in 0..3 {
            assert!(limiter.limit_sync(&login, "eve").expect("an answer").allowed());
        }
        let newcomers = (0..1000).map(|number| number.to_string());
        let admitted = newcomers.filter(|name| limiter.limit_sync(&login, name).expect("an answer").allowed()).count();
        assert!((8..20).contains(&admitted), "{admitted}");
        assert!(limiter.limit_sync(&login, "eve").expect("an answer").blocked);
    }
    let stats = limiter.stats();
    assert_eq!((stats.entries, stats.overflowed), (9, 992));
    assert_eq!(memory.stats().overflowed, 992);
    assert_eq!(tidegate::ffi::check_shared(&limiter), Ok(Vec::new()));
}

/// The memory of an entry, and of those that actors share, which a table takes once it is full.
#[test]
fn an_entry_takes_less_than_64_bytes_of_memory() {
    const ENTRIES: usize = 80_000;
    const OWN: u64 = ENTRIES as u64 / 8 * 7;
    let file = path();
    let table = at(&file, ENTRIES).expect("a table");
    let login = hourly("login", 3);
    let bytes = || fs::metadata(&file).expect("a file").blocks() * 512;
    let charge = |actors: std::ops::Range<u64>| {
        for actor in actors {
            table.limit_sync(&login, &actor.to_string()).expect("an answer");
        }
    };
    // Not all: some parts of the table are full before others, in one of fifty tables at nine tenths already.
    charge(0..OWN * 8 / 10);
    assert_eq!(table.stats().overflowed, 0);
    let header = 64 << 10;
    let before = bytes();
    assert!(before <= 64 * OWN + header, "{before}");
    charge(OWN..OWN * 2);
    assert!(table.stats().overflowed > 0);
    let shared = bytes() - before;
    assert!((1..=64 * (ENTRIES as u64 - OWN) + header).contains(&shared), "{shared}");
    assert_eq!(tidegate::ffi::check_shared(&table), Ok(Vec::new()));
    fs::remove_file(&file).expect("it is gone");
}

#[test]
fn lists_grow_shrink_and_are_left_in_order() {
    let limiter = fresh(100);
    let log = Limit::sliding_log("log", 5000, Duration::from_secs(1)).build().expect("a log");
    let start = 1_700_000_000_000_000;
    for round in 0..3 {
        for step in 0..700 {
            let now = start + round * 3_000_000 + step;
            for actor in ["ada", "bob"] {
                assert!(
                    limiter.decide_sync_at(&[Check::new(&log, actor)], Call::Limit, now).expect("an answer").allowed()
                );
            }
            if step % 100 == 0 {
                assert_eq!(tidegate::ffi::check_shared(&limiter), Ok(Vec::new()));
            }
        }
        let peek = limiter.decide_sync_at(&[Check::new(&log, "ada")], Call::Peek, start + round * 3_000_000 + 700);
        assert_eq!(peek.expect("an answer").remaining, 4300);
    }
    assert_eq!(limiter.clear_sync(), Ok(2));
    assert_eq!(tidegate::ffi::check_shared(&limiter), Ok(Vec::new()));
}

/// Every block of a table is in use, so the charges of a log count at its newest instant.
#[test]
fn lists_that_find_no_memory_free_nobody_early() {
    const MAX: u64 = 100_000;
    let limiter = fresh(100);
    let log = Limit::sliding_log("log", MAX, Duration::from_hours(1)).build().expect("a log");
    let (start, hour) = (1_700_000_000_000_000, 3600 * 1_000_000);
    let ask = |actor: u64, call, now| {
        limiter.decide_sync_at(&[Check::new(&log, &actor.to_string())], call, now).expect("an answer")
    };
    let (actor, charged) = (1..2000)
        .flat_map(|charged| (0..80).map(move |actor| (actor, charged)))
        .find(|(actor, charged)| {
            assert_eq!(ask(*actor, Call::Limit, start + charged * 1000).remaining, MAX - charged);
            limiter.stats().overflowed > 0
        })
        .expect("there is an end");
    assert!(charged > 100, "{charged}");
    assert_eq!(tidegate::ffi::check_shared(&limiter), Ok(Vec::new()));
    let late = start + charged * 1000;
    assert_eq!(ask(actor, Call::Peek, late).remaining, MAX - charged, "none is forgotten");
    assert_eq!(ask(actor, Call::Peek, late + hour - 1).remaining, MAX - charged, "and none leaves early");
    assert_eq!(ask(actor, Call::Peek, late + hour).remaining, MAX);
}

#[test]
fn a_file_that_is_no_table_is_left_as_it_is() {
    let file = path();
    fs::write(&file, vec![b'x'; 100_000]).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its mode");
    assert!(at(&file, 100).expect_err("no table").contains("it is not a table of tidegate"));
    assert_eq!(fs::read(&file).expect("a file").len(), 100_000);
    fs::write(&file, "short").expect("a file");
    assert!(at(&file, 100).expect_err("no table").contains("it is not a table of tidegate"));
    fs::remove_file(&file).expect("it is gone");

    let table = at(&file, 100).expect("a table");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).expect("a file");
    let patched = |name: &str, word: usize, value: u64| {
        let copy = path();
        let mut bytes = bytes.clone();
        bytes[word * 8..word * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        fs::write(&copy, bytes).expect("a copy");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).expect("its mode");
        let error = at(&copy, 100);
        fs::remove_file(&copy).expect("it is gone");
        error.err().unwrap_or_else(|| panic!("{name} is opened"))
    };
    assert!(patched("another layout", 1, 99).contains("layout 99, and this version of tidegate knows layout 5"));
    assert!(patched("another architecture", 2, 7).contains("another architecture"));
    assert!(patched("another hash", 5, 7).contains("hashes in another way"));
    assert!(patched("another size", 4, 1_000_000).contains("should have"));
    assert!(patched("the other byte order", 0, u64::from_le_bytes(*b"tidegate")).contains("byte order"));
    let cut = path();
    fs::write(&cut, &bytes[..50_000]).expect("a copy");
    fs::set_permissions(&cut, fs::Permissions::from_mode(0o600)).expect("its mode");
    assert!(at(&cut, 100).expect_err("it is cut off").contains("should have"));
    // One of an earlier start of the host begins anew.
    let mut old = bytes.clone();
    old[8 * 8] ^= 1;
    fs::write(&cut, old).expect("a copy");
    let begun = at(&cut, 200).expect("a table");
    assert!(begun.limit_sync(&hourly("door", 1), "ada").expect("an answer").allowed());
    fs::remove_file(&cut).expect("it is gone");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).expect("its mode");
    let link = path();
    symlink(&file, &link).expect("a link");
    assert!(at(&link, 100).expect_err("a link").contains("symbolic link"));
    fs::remove_file(&link).expect("it is gone");
    drop(table);
    fs::remove_file(&file).expect("it is gone");
    let open_to_all = path();
    fs::write(&open_to_all, "").expect("a file");
    fs::set_permissions(&open_to_all, fs::Permissions::from_mode(0o644)).expect("its mode");
    assert!(at(&open_to_all, 100).expect_err("others read it").contains("make it 600"));
    fs::remove_file(&open_to_all).expect("it is gone");
    assert!(open("shm:///nowhere/at/all").expect_err("no folder").contains("/nowhere/at/all"));
    assert!(open("shm:///tmp").expect_err("a folder").contains("url must name a table"));
}

#[test]
fn a_url_that_names_no_table_says_why() {
    for (url, why) in [
        ("shm://", "a name of letters"),
        ("shm://a/b", "a name of letters"),
        ("shm://.hidden", "a name of letters"),
        ("shm://ünï", "a name of letters"),
        (&format!("shm://{}", "n".repeat(101)), "at most 100"),
        ("shm:///tmp/", "a file"),
        ("shm://x?entries=0", "from 1 to"),
        ("shm://x?entries=-1", "from 1 to"),
        ("shm://x?entries=1e6", "from 1 to"),
        ("shm://x?entries=9999999999999999999999", "from 1 to"),
        ("shm://x?entries=5&entries=5", "once"),
        ("shm://x?size=5", "no option but entries"),
    ] {
        let error = open(url).expect_err(url);
        assert!(error.starts_with("url must ") && error.contains(why), "{url}: {error}");
        let by_name = Limiter::open(url, []).expect_err(url).to_string();
        assert_eq!(by_name, error);
    }
}
