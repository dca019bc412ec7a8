use crate::text::{Decoded, Tokens};
use upfront_engine::state::{Read, Value};

/// Values in the order and of the kinds of `reads`.
pub fn values(text: &str, reads: &[Read]) -> Decoded<Vec<Value>> {
    let mut t = Tokens(text);
    let value = |read: &Read| match read {
        Read::Code(_) => t.read().map(Value::Code),
        _ => t.read().map(Value::Word),
    };
    reads.iter().map(value).collect()
}
