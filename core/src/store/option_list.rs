//! The options of a limiter: their documentation, names, types and defaults.

/// One option of a limiter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StoreOption {
    /// Its name, as [`Limiter::open`](crate::Limiter::open) takes it.
    pub name: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// Its value unless it is given.
    pub default: &'static str,
    /// Its documentation behind a space; the names of other options stand in backquotes.
    pub about: &'static str,
}

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A string.
    Text,
    /// A string that is never shown.
    Secret,
    /// The path of a file.
    File,
    /// A time from so many milliseconds to an hour.
    Milliseconds(f64),
    /// A whole number within these bounds.
    Count(f64, f64),
    /// One of these names.
    Choice(&'static [&'static str]),
    /// True or false.
    Flag,
}

/// The longest time, in milliseconds.
pub(crate) const HOUR_MS: f64 = 3_600_000.0;
/// More than any machine's memory holds, and exact as a double.
const MOST_ENTRIES: f64 = 1e12;

/// Defines [`STORE_OPTIONS`]: documentation, name, type and default of each.
macro_rules! options {
    ($($(#[doc = $about:literal])+ $name:literal: $takes:expr, $default:literal;)+) => {
        /// Every option there is. In memory the options of a shared store are checked too, and have no effect, so that
        /// only the URL has to differ between stores.
        pub const STORE_OPTIONS: &[StoreOption] = &[
            $(StoreOption { name: $name, takes: $takes, default: $default, about: concat!($($about),+) },)+
        ];
    };
}

options! {
    /// The prefix of all keys in the store.
    "namespace": Takes::Text, "\"tidegate\", and nothing in the sharkey layout";
    /// The most entries in this process; over a shared store, those of the fallback `local`.
    "maxEntries": Takes::Count(1.0, MOST_ENTRIES), "1000000";
    /// The most `acquire`s that wait at the same time in this process. Further ones are answered as if they could not wait.
    "maxWaiters": Takes::Count(0.0, MOST_ENTRIES), "10000";
    /// The longest time for a decision, connecting included.
    "timeout": Takes::Milliseconds(1.0), "100";
    /// The policy for calls that the store cannot decide.
    "onError": Takes::Choice(&["local", "allow", "deny", "raise"]), "\"local\"";
    /// The longest time for which this process repeats a denial without a call to the store; never longer than until
    /// the call would be admitted. 0 turns it off.
    "denyCache": Takes::Milliseconds(0.0), "1000";
    /// The number of replicas that must have a charge before its call is answered; where too few acknowledge it in
    /// time, the charge stays on the primary and `onError` answers the call. 0 waits for none.
    "waitReplicas": Takes::Count(0.0, u32::MAX as f64), "0";
    /// The way to decide at the server: by a script, in one round trip, or by transactions, for servers that run no
    /// scripts; transactions support buckets only.
    "strategy": Takes::Choice(&["script", "transactions"]), "\"script\"";
    /// The keys of an entry on the server: one of tidegate's own, or the two of Sharkey's nodes, for buckets only.
    "layout": Takes::Choice(&["own", "sharkey"]), "\"own\"";
    /// The user, in place of the URL's.
    "username": Takes::Text, "that of the URL";
    /// The password, in place of the URL's.
    "password": Takes::Secret, "that of the URL";
    /// The user for sentinels, which have logins of their own.
    "sentinelUsername": Takes::Text, "that of the URL";
    /// The password for sentinels.
    "sentinelPassword": Takes::Secret, "that of the URL";
    /// A file of authorities to trust in place of the system's.
    "sslCaCerts": Takes::File, "the system's authorities";
    /// A file with the certificate to show the server.
    "sslCertfile": Takes::File, "none";
    /// A file with the key of that certificate.
    "sslKeyfile": Takes::File, "the certificate's own file";
    /// `none` accepts any certificate, with a warning.
    "sslCertReqs": Takes::Choice(&["required", "optional", "none"]), "\"required\"";
    /// The authorities to trust in place of the system's.
    "tls.ca": Takes::Secret, "the system's authorities";
    /// The certificate to show the server; with `key`.
    "tls.cert": Takes::Secret, "none";
    /// The key of that certificate.
    "tls.key": Takes::Secret, "none";
    /// False accepts any certificate, with a warning.
    "tls.rejectUnauthorized": Takes::Flag, "true";
}
