//! The border's format: values as text, one a line. JavaScript has hex strings on both sides of it, so text is what costs
//! least there: joining and slicing strings, where bytes would have to be turned into hex one by one.

use upfront_engine::primitives::{Address, B256, Bytes, U256, hex};

/// What can't be read of a plan: a fault of the TypeScript half, never of a request.
#[derive(Debug)]
pub struct Malformed(pub &'static str);

pub type Decoded<T> = Result<T, Malformed>;

/// Stands for an absent value.
const ABSENT: &str = "-";

pub struct Tokens<'a>(std::str::Split<'a, char>);

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Self {
        Self(text.split('\n'))
    }

    pub fn next(&mut self) -> Decoded<&'a str> {
        self.0.next().ok_or(Malformed("the text ends early"))
    }

    pub fn number(&mut self) -> Decoded<u64> {
        number(self.next()?)
    }

    pub fn count(&mut self) -> Decoded<usize> {
        Ok(self.number()? as usize)
    }

    pub fn flag(&mut self) -> Decoded<bool> {
        Ok(self.next()? == "1")
    }

    pub fn word(&mut self) -> Decoded<U256> {
        word(self.next()?)
    }

    /// 32 bytes with `0x`.
    pub fn hash(&mut self) -> Decoded<B256> {
        hash(self.next()?)
    }

    pub fn address(&mut self) -> Decoded<Address> {
        address(self.next()?)
    }

    pub fn bytes(&mut self) -> Decoded<Bytes> {
        bytes(self.next()?)
    }

    /// A value, or nothing.
    pub fn optional<T>(&mut self, decode: impl FnOnce(&'a str) -> Decoded<T>) -> Decoded<Option<T>> {
        match self.next()? {
            ABSENT => Ok(None),
            token => decode(token).map(Some),
        }
    }

    /// A count and as many items.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Decoded<T>) -> Decoded<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }

    /// A list, or nothing.
    pub fn optional_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Decoded<T>) -> Decoded<Option<Vec<T>>> {
        match self.optional(number)? {
            None => Ok(None),
            Some(count) => (0..count).map(|_| item(self)).collect::<Decoded<_>>().map(Some),
        }
    }
}

pub fn number(token: &str) -> Decoded<u64> {
    u64::from_str_radix(token.strip_prefix("0x").unwrap_or(token), 16).map_err(|_| Malformed("a number that is none"))
}

pub fn word(token: &str) -> Decoded<U256> {
    U256::from_str_radix(token, 16).map_err(|_| Malformed("a quantity that is none"))
}

pub fn address(token: &str) -> Decoded<Address> {
    let mut out = Address::ZERO;
    hex::decode_to_slice(token, out.as_mut_slice()).map_err(|_| Malformed("an address that is none"))?;
    Ok(out)
}

pub fn hash(token: &str) -> Decoded<B256> {
    let mut out = B256::ZERO;
    hex::decode_to_slice(token, out.as_mut_slice()).map_err(|_| Malformed("a hash that is none"))?;
    Ok(out)
}

pub fn bytes(token: &str) -> Decoded<Bytes> {
    hex::decode(token).map(Bytes::from).map_err(|_| Malformed("bytes that are none"))
}

/// The way out: values with `0x`, each followed by a line end.
#[derive(Default)]
pub struct Lines(pub String);

impl Lines {
    pub fn text(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    pub fn absent(&mut self) {
        self.text(ABSENT);
    }

    pub fn number(&mut self, value: u64) {
        use std::fmt::Write;
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{value:#x}");
    }

    pub fn word(&mut self, value: U256) {
        use std::fmt::Write;
        let _ = writeln!(self.0, "{value:#x}");
    }

    pub fn hex(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0.reserve(bytes.len() * 2 + 3);
        self.0.push_str("0x");
        if bytes.len() > 32 {
            self.0.push_str(&hex::encode(bytes));
        } else {
            for byte in bytes {
                self.0.push(DIGITS[usize::from(byte >> 4)] as char);
                self.0.push(DIGITS[usize::from(byte & 15)] as char);
            }
        }
        self.0.push('\n');
    }

    pub fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => put(self, value),
            None => self.absent(),
        }
    }
}
