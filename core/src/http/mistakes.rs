//! Mistakes of configuration: their codes and sentences, and those that this process has reported.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use crate::error::LimitError;
use crate::names::unknown;

/// The pages of codes in the documentation. Packages do not carry it, so that a message has to name a URL.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/errors/");

/// The URL of the page of a code in the documentation.
#[must_use]
pub(crate) fn page_of(code: &str) -> String {
    format!("{PAGES}{code}.md")
}

/// Defines [`Mistake`]; the code is also the name of the page in the documentation.
macro_rules! mistakes {
    ($($(#[doc = $about:literal])+ $name:ident = $code:literal: $sentence:literal,)+) => {
        /// A mistake in how limits are set up, which would let clients pass a limit, or share one.
        ///
        /// Each has a [page](Self::page) in the documentation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Mistake {
            $($(#[doc = $about])+ $name,)+
        }

        impl Mistake {
            /// Every mistake.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its code, such as `forwarded-not-trusted`.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)+
                }
            }

            /// The mistake, and what to do about it.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)+
                }
            }
        }
    };
}

mistakes! {
    /// A proxy writes addresses into a header, and none is trusted.
    ForwardedNotTrusted = "forwarded-not-trusted":
        "a request has a forwarded header, but no proxy is trusted: if there is one, all clients share its limit; set \
         trusted proxies, or silence this if clients send the header themselves",
    /// A peer that is not a trusted proxy sends a forwarded header.
    PeerNotTrusted = "peer-not-trusted":
        "a request has a forwarded header, but comes from an address that is not among the trusted proxies: if it is a \
         proxy, all clients behind it share its limit; add its network to the trusted proxies, or silence this if it \
         is a client",
    /// The server has already made the client's address of the forwarded header.
    ForwardedReadTwice = "forwarded-read-twice":
        "the peer of a request is an address out of its own forwarded header: the server has read the header before, \
         by rules of its own, and the trusted proxies are not asked; configure proxies in one of the two places",
    /// The server takes a header with underscores for the forwarded header.
    UnderscoredHeader = "underscored-header":
        "the server joins headers with underscores in their names to those with hyphens, so that a client can add to \
         the forwarded header behind a proxy; the peer is taken for the client where it may have: use a server that \
         drops such headers",
    /// All addresses are trusted proxies.
    EverythingTrusted = "everything-trusted":
        "all addresses are trusted proxies, so that clients could choose their own; one proxy is taken for trusted: set \
         the number of proxies, or their networks",
    /// Two middlewares charge one request to the same limit.
    CountedTwice = "counted-twice":
        "one request was charged twice to the same limit and client, by two instances: install one of them",
    /// A limiter is made for each request.
    LimiterPerRequest = "limiter-per-request":
        "limiters are made while requests are served, and each in memory counts on its own: make one when the program \
         starts, and share it",
    /// Several processes, or threads of Node, count in their own memory.
    MemoryManyWorkers = "memory-many-workers":
        "several worker processes or threads count in their own memory, so that a limit admits its size once for each: use a \
         store that they share, such as shm://name on one host, or redis://",
    /// A blocking call on an event loop.
    SyncOnEventLoop = "sync-on-event-loop":
        "a synchronous limiter on a shared store was called on an event loop, which stands still meanwhile: use the \
         asynchronous one",
    /// Two definitions count in one entry.
    SameKeyTwice = "same-key-twice":
        "two limits with different definitions have the same key, and count together: give each a key of its own",
    /// Two places derive one name for their limits.
    SameNameTwice = "same-name-twice":
        "limits as text in two places have the same key, which both derive from their route or application, so that \
         they count together: give at least one of them a name",
    /// The path of a place is not known, so that its limits have no name.
    NameMissing = "name-missing":
        "a limit as text stands at a place whose path the framework does not tell, so that it may count together with \
         others: give it a name",
    /// A limit stands on a function that no route calls.
    LimitNotApplied = "limit-not-applied":
        "a limit is on a function, and its route calls the function without it: put the decorator of the limit below \
         the one of the route",
    /// The store does not answer at the start.
    StoreUnreachable = "store-unreachable":
        "the store cannot be reached; until it can, calls are answered as its error policy says",
    /// The client has no address.
    NoClientAddress = "no-client-address":
        "the request has no client address, as behind a Unix socket: trust the proxy that has it, or give a key",
    /// The middleware that puts headers on responses is not installed.
    MiddlewareMissing = "middleware-missing":
        "a limit was decided for a route, but the middleware that puts its headers on every response is not installed",
}

/// From its [code](Mistake::code).
impl FromStr for Mistake {
    type Err = LimitError;

    fn from_str(code: &str) -> Result<Self, LimitError> {
        let found = Self::ALL.iter().copied().find(|mistake| mistake.code() == code);
        found.ok_or_else(|| unknown("code", Self::ALL.iter().map(|mistake| mistake.code()), code))
    }
}

impl Mistake {
    /// The URL of its page in the documentation.
    #[must_use]
    pub fn page(self) -> String {
        page_of(self.code())
    }

    /// The sentence for a log, with what was found in particular, if anything: once in a process for each scope, which
    /// names a limiter; none after that.
    #[must_use]
    pub fn report(self, scope: &str, detail: &str) -> Option<String> {
        is_first(self, scope).then(|| {
            let detail =
                if detail.is_empty() { String::new() } else { format!(" ({})", crate::error::excerpt(detail)) };
            format!("{}: {}{detail}; see {}", self.code(), self.sentence(), self.page())
        })
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; see {}", self.code(), self.sentence(), self.page())
    }
}

/// The most reports of one process; a scope may be made up of anything.
const MOST_REPORTED: usize = 256;

static REPORTED: Mutex<Option<HashSet<(Mistake, String)>>> = Mutex::new(None);

/// True for the first report of a mistake in a scope, which is remembered.
fn is_first(mistake: Mistake, scope: &str) -> bool {
    // Never waits: a forked child may have inherited a lock that no thread will open. The next call reports it.
    let Ok(mut reported) = REPORTED.try_lock() else { return false };
    let reported = reported.get_or_insert_default();
    reported.len() < MOST_REPORTED && reported.insert((mistake, crate::error::excerpt(scope)))
}

/// Forgets all reports, for tests of programs that want to see them again.
pub fn forget_mistakes() {
    if let Ok(mut reported) = REPORTED.lock() {
        *reported = None;
    }
}

/// A request that cannot be limited, because of a [mistake](Mistake) in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigurationError(pub(crate) Mistake);

impl ConfigurationError {
    /// The mistake.
    #[must_use]
    pub const fn mistake(self) -> Mistake {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_for_each_scope() {
        let first = Mistake::SameKeyTwice.report("mistakes::one", "login");
        assert_eq!(
            first.as_deref(),
            Some(
                "same-key-twice: two limits with different definitions have the same key, and count together: give \
                 each a key of its own (login); see \
                 https://github.com/tidegate/tidegate/blob/main/docs/errors/same-key-twice.md"
            )
        );
        assert_eq!(Mistake::SameKeyTwice.report("mistakes::one", "api"), None);
        assert!(Mistake::SameKeyTwice.report("mistakes::two", "").is_some());
        assert!(Mistake::CountedTwice.report("mistakes::one", "").is_some());
    }

    #[test]
    fn codes_are_distinct_and_have_pages() {
        for mistake in Mistake::ALL {
            assert_eq!(mistake.code().parse(), Ok(*mistake));
            let page = mistake.page();
            let file = page.strip_prefix("https://github.com/tidegate/tidegate/blob/main/").unwrap_or_default();
            let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let page = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            assert!(page.starts_with(&format!("# {}\n", mistake.code())), "{}", mistake.code());
        }
        let error = "other".parse::<Mistake>().expect_err("no code");
        assert_eq!((error.field(), error.value()), ("code", "\"other\""));
    }
}
