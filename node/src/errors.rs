//! Failures, as an object from which `lib/errors.ts` makes the error that is thrown.

use napi_derive::napi;
use tidegate::ffi::Dialect;
use tidegate::{Error, ErrorKind, LimitError};

/// An answer, or why there is none; boxed, so that an answer does not carry the room for it along.
pub(crate) type Answered<T> = Result<T, Box<Failure>>;

/// Handed back instead of an answer, so that the error can be of a class that JavaScript defines.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// `type`, `range`, `closed`, `store`, `configuration` or `internal`.
    pub kind: &'static str,
    /// The key of the limit, or empty.
    pub key: String,
    /// The field at fault, or empty.
    pub field: String,
    /// The value at fault as text, or why the store did not decide, or empty.
    pub value: String,
    /// True if the store may have carried the call out all the same.
    pub may_have_happened: bool,
    /// The whole sentence.
    pub message: String,
    /// The server that did not decide.
    pub server: Option<String>,
    /// The reason in words.
    pub reason: Option<String>,
    /// The message of the server, or of the system.
    pub cause: Option<String>,
}

impl Failure {
    // An inlined cold function would make the compiler treat the code after it as rare.
    #[cold]
    #[inline(never)]
    fn of(kind: &'static str, message: &str) -> Box<Self> {
        let empty = String::new;
        let message = message.to_owned();
        let (server, reason, cause) = (None, None, None);
        Box::new(Self {
            kind,
            key: empty(),
            field: empty(),
            value: empty(),
            may_have_happened: false,
            message,
            server,
            reason,
            cause,
        })
    }

    /// The limiter was closed, or never was.
    #[cold]
    #[inline(never)]
    pub(crate) fn closed() -> Box<Self> {
        Self::of("closed", "this limiter is closed")
    }

    /// A request that cannot be limited as the application is set up.
    #[cold]
    #[inline(never)]
    pub(crate) fn configuration(error: tidegate::http::ConfigurationError) -> Box<Self> {
        let mistake = error.mistake();
        let reason = Some(mistake.page());
        Box::new(Self { value: mistake.code().to_owned(), reason, ..*Self::of("configuration", &error.to_string()) })
    }

    /// A mistake between the two halves of this binding, never the caller's.
    #[cold]
    #[inline(never)]
    pub(crate) fn internal(message: &str) -> Box<Self> {
        Self::of("internal", message)
    }
}

impl From<LimitError> for Box<Failure> {
    #[cold]
    #[inline(never)]
    fn from(error: LimitError) -> Self {
        Self::from(&Dialect::JavaScript.error(error))
    }
}

/// The failure of an error whose field is named as JavaScript does.
impl From<&LimitError> for Box<Failure> {
    #[cold]
    #[inline(never)]
    fn from(error: &LimitError) -> Self {
        Self::new(Failure {
            kind: if error.kind() == ErrorKind::Type { "type" } else { "range" },
            key: error.key().to_owned(),
            field: error.field().to_owned(),
            value: error.value().to_owned(),
            ..*Failure::internal(&error.to_string())
        })
    }
}

impl From<Error> for Box<Failure> {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        match error {
            Error::Limit(error) => error.into(),
            Error::Store(error) => Self::new(Failure {
                kind: "store",
                value: error.failure().name().to_owned(),
                may_have_happened: error.failure().may_have_happened(),
                server: Some(error.server().to_owned()),
                reason: Some(error.reason()),
                cause: error.cause().map(str::to_owned),
                ..*Failure::internal(&error.to_string())
            }),
            other => Failure::internal(&other.to_string()),
        }
    }
}
