//! Why a request from JavaScript is refused.

use crate::text::Malformed;

/// `as_ref` becomes the `code` of the error thrown in JavaScript; `accepted` in src/engine-work.ts checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("too many simulations wait for a thread")]
    Full,
    #[error("the engine was closed")]
    Closed,
    #[error("no layer has this number")]
    UnknownLayer,
    #[error("malformed: {0}")]
    Malformed(&'static str),
}

impl AsRef<str> for Refusal {
    fn as_ref(&self) -> &str {
        match self {
            Self::Full => "FULL",
            Self::Closed => "CLOSED",
            Self::UnknownLayer => "UNKNOWN_LAYER",
            Self::Malformed(_) => "MALFORMED",
        }
    }
}

pub type Result<T> = std::result::Result<T, Refusal>;

impl From<Malformed> for Refusal {
    fn from(Malformed(what): Malformed) -> Self {
        Self::Malformed(what)
    }
}
