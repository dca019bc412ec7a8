//! Values as text, one per line. JavaScript has hex strings on both sides of the border, so text is cheapest for it: it joins and slices
//! strings, while bytes would have to be converted to hex one by one.

use std::{collections::HashMap, fmt::Write, hash::Hash};
use upfront_engine::{
    primitives::{Address, B256, Bloom, Bytes, U256, hex},
    state::{Code, analysed},
};

/// Malformed text: always a fault of the TypeScript side, never of a request.
#[derive(Debug)]
pub struct Malformed(pub &'static str);

pub type Decoded<T> = Result<T, Malformed>;

/// Marks an absent value.
const ABSENT: &str = "-";

/// A value that crosses the border.
pub trait Field: Sized {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self>;
    fn write(&self, out: &mut TextWriter);
}

/// Reads a whole text.
pub fn read<T: Field>(text: &str) -> Decoded<T> {
    TextReader(text).read()
}

/// Decodes: the text left to read.
pub struct TextReader<'a>(pub &'a str);

impl<'a> TextReader<'a> {
    pub fn read<T: Field>(&mut self) -> Decoded<T> {
        T::read(self)
    }

    pub fn word(&mut self) -> Decoded<&'a str> {
        let (word, rest) = self.0.split_once('\n').ok_or(Malformed("the text ends early"))?;
        self.0 = rest;
        Ok(word)
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Decoded<T> {
        let word = self.word()?;
        let number = u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16);
        number.ok().and_then(|number| T::try_from(number).ok()).ok_or(Malformed("not a number"))
    }

    fn fill(&mut self, out: &mut [u8]) -> Decoded<()> {
        hex::decode_to_slice(self.word()?, out).map_err(|_| Malformed("not bytes of that length"))
    }
}

/// Encodes: each value is followed by a line end.
#[derive(Default)]
pub struct TextWriter(pub String);

impl TextWriter {
    pub fn text(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn hex(&mut self, bytes: &[u8]) {
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
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
                t.number()
            }

            fn write(&self, out: &mut TextWriter) {
                // Writing to a string never fails.
                let _ = writeln!(out.0, "{self:#x}");
            }
        }
    )*};
}

numbers!(u32 u64 u128 usize);

impl Field for u8 {
    /// Values above 255 are read as 255: for an authorization's parity, all values above 1 are equally invalid.
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        Ok(t.read::<U256>()?.saturating_to())
    }

    fn write(&self, out: &mut TextWriter) {
        u64::from(*self).write(out);
    }
}

impl Field for bool {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        Ok(t.word()? == "1")
    }

    fn write(&self, out: &mut TextWriter) {
        out.text(if *self { "1" } else { "0" });
    }
}

impl Field for String {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        t.word().map(str::to_owned)
    }

    fn write(&self, out: &mut TextWriter) {
        out.text(self);
    }
}

impl Field for U256 {
    /// A quantity in hex, or 32 bytes with `0x`.
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        if t.0.starts_with("0x") {
            return t.read::<B256>().map(Into::into);
        }
        match t.word()? {
            "" => Err(Malformed("no quantity")),
            word => Self::from_str_radix(word, 16).map_err(|_| Malformed("not a quantity")),
        }
    }

    fn write(&self, out: &mut TextWriter) {
        out.hex(&self.to_be_bytes::<32>());
    }
}

macro_rules! bytes_of_fixed_length {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
                let mut out = Self::ZERO;
                t.fill(out.as_mut_slice())?;
                Ok(out)
            }

            fn write(&self, out: &mut TextWriter) {
                out.hex(self.as_slice());
            }
        }
    )*};
}

bytes_of_fixed_length!(Address B256 Bloom);

impl Field for Bytes {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        hex::decode(t.word()?).map(Self::from).map_err(|_| Malformed("not bytes"))
    }

    fn write(&self, out: &mut TextWriter) {
        out.hex(self);
    }
}

impl Field for Code {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        t.read().map(analysed)
    }

    fn write(&self, out: &mut TextWriter) {
        out.hex(&self.1.original_bytes());
    }
}

impl<T: Field> Field for Option<T> {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        match t.0.strip_prefix("-\n") {
            Some(rest) => {
                t.0 = rest;
                Ok(None)
            }
            None => t.read().map(Some),
        }
    }

    fn write(&self, out: &mut TextWriter) {
        match self {
            Some(value) => value.write(out),
            None => out.text(ABSENT),
        }
    }
}

impl<T: Field> Field for Vec<T> {
    /// A count, followed by that many items.
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        let count: usize = t.read()?;
        (0..count).map(|_| t.read()).collect()
    }

    fn write(&self, out: &mut TextWriter) {
        self.len().write(out);
        self.iter().for_each(|item| item.write(out));
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        Ok((t.read()?, t.read()?))
    }

    fn write(&self, out: &mut TextWriter) {
        self.0.write(out);
        self.1.write(out);
    }
}

impl<K: Field + Eq + Hash, V: Field, S: std::hash::BuildHasher + Default> Field for HashMap<K, V, S> {
    fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
        t.read::<Vec<(K, V)>>().map(|entries| entries.into_iter().collect())
    }

    fn write(&self, out: &mut TextWriter) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }
}
