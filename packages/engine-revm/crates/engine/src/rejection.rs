//! Why a simulation gives no outcome.

use crate::state::{Read, ReadError};

/// Of execution-apis and geth.
pub mod code {
    pub const INVALID_PARAMS: i32 = -32602;
    pub const INTERNAL_ERROR: i32 = -32603;
    pub const SERVER_ERROR: i32 = -32000;
    pub const LIMIT_EXCEEDED: i32 = -32005;
    pub const NONCE_TOO_LOW: i32 = -38010;
    pub const NONCE_TOO_HIGH: i32 = -38011;
    pub const BASE_FEE_TOO_LOW: i32 = -38012;
    pub const INTRINSIC_GAS: i32 = -38013;
    pub const INSUFFICIENT_FUNDS: i32 = -38014;
    pub const BLOCK_GAS_LIMIT_REACHED: i32 = -38015;
    pub const INIT_CODE_TOO_LARGE: i32 = -38025;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The request is at fault.
    Rejected(Rejection),
    /// State could not be read: the source knows why.
    Unread,
    Cancelled,
    /// Not in the little time that the caller's thread may give.
    TooMuch,
    /// Not without waiting for these.
    Missing(Vec<Read>),
}

/// A call that is no valid transaction, or overrides that can't be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub code: i32,
    /// geth's words.
    pub message: String,
    pub block: usize,
    pub call: Option<usize>,
}

/// A rejection that does not know its place yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Rejected { code: i32, message: String },
    Read(ReadError),
}

impl Fault {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self::Rejected { code, message: message.into() }
    }

    pub fn at(self, block: usize, call: Option<usize>) -> Failure {
        match self {
            Self::Rejected { code, message } => Failure::Rejected(Rejection { code, message, block, call }),
            Self::Read(error) => error.into(),
        }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Failed => Self::Unread,
            ReadError::Cancelled => Self::Cancelled,
            ReadError::WouldBlock => Self::TooMuch,
        }
    }
}
