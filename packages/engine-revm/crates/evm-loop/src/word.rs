//! Words of the stack as the loop looks at them.

use revm_interpreter::primitives::U256;

/// The sign of a word, in its highest limb.
const SIGN: u64 = 1 << 63;

/// Shifts by so much or more leave nothing.
pub const BITS: U256 = U256::from_limbs([256, 0, 0, 0]);

/// Whether the number fits in a `usize`.
#[inline(always)]
pub fn is_small(word: &U256) -> bool {
    let [a, b, c, d] = *word.as_limbs();
    b | c | d == 0 && usize::try_from(a).is_ok()
}

/// The number, if it is small.
#[inline(always)]
pub fn small(word: &U256) -> usize {
    word.as_limbs()[0] as usize
}

/// Whether the word at `offset` lies within memory of `length` bytes: if not, memory would have to grow, and that costs gas.
#[inline(always)]
pub fn holds_word(offset: &U256, length: usize) -> bool {
    is_small(offset) && length >= 32 && small(offset) <= length - 32
}

/// A number whose unsigned order is the word's order in two's complement.
#[inline(always)]
pub fn signed(word: U256) -> U256 {
    let [a, b, c, d] = *word.as_limbs();
    U256::from_limbs([a, b, c, d ^ SIGN])
}

/// A push's operand. Read in whole limbs: a word written byte by byte would stall whoever reads it next.
#[inline(always)]
pub fn number<const SIZE: usize>(bytes: &[u8; SIZE]) -> U256 {
    let mut limbs = [0; 4];
    let mut end = SIZE;
    let mut limb = 0;
    while end >= 8 {
        limbs[limb] = be(&bytes[end - 8..end]);
        end -= 8;
        limb += 1;
    }
    if end > 0 {
        limbs[limb] = be(&bytes[..end]);
    }
    U256::from_limbs(limbs)
}

#[inline(always)]
fn be(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c] => u64::from(u16::from_be_bytes([a, b])) << 8 | u64::from(c),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}
