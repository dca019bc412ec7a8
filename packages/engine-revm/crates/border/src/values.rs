//! Values of state as text, in the order of their reads.

use crate::text::{Decoded, Field, TextReader, TextWriter};
use upfront_engine::{
    primitives::Address,
    state::{Cached, Read, Value, Writes},
};

/// Values in the order of `reads`, each of its read's kind.
pub fn values(text: &str, reads: &[Read]) -> Decoded<Vec<Value>> {
    let mut t = TextReader(text);
    let value = |read: &Read| match read {
        Read::Code(_) => t.read().map(Value::Code),
        _ => t.read().map(Value::Word),
    };
    reads.iter().map(value).collect()
}

impl Field for Writes {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        let count: usize = t.read()?;
        let mut value = || {
            let read = t.read()?;
            let value = match read {
                Read::Code(_) => t.read().map(|(hash, code)| Cached::Code(hash, code)),
                _ => t.read().map(Cached::Word),
            };
            Ok((read, value?))
        };
        let values = (0..count).map(|_| value()).collect::<Decoded<_>>()?;
        Ok(Self { values, cleared: t.read::<Vec<Address>>()?.into_iter().collect() })
    }

    fn write(&self, out: &mut TextWriter) {
        self.values.len().write(out);
        for (read, value) in &self.values {
            read.write(out);
            match value {
                Cached::Word(word) => word.write(out),
                Cached::Code(hash, code) => (*hash, code.clone()).write(out),
            }
        }
        self.cleared.iter().copied().collect::<Vec<_>>().write(out);
    }
}
