//! Estimates a transaction's compressed size: https://specs.optimism.io/protocol/fjord/exec-engine.html

/// Millionths of a byte: FastLZ's size in Fjord's linear formula, at least 100 bytes.
pub fn compressed_size(encoded: &[u8]) -> u64 {
    const LEAST: u64 = 100_000_000;
    const SLOPE: u64 = 836_500;
    const INTERCEPT: u64 = 42_585_600;
    fast_lz_length(encoded).saturating_mul(SLOPE).saturating_sub(INTERCEPT).max(LEAST)
}

/// Greatest distance of a match, and size of the table of earlier positions.
const WINDOW: usize = 8_192;
/// Final bytes of the input, which are never matched.
const TAIL: usize = 13;
/// Least length of a match.
const MIN_MATCH: usize = 3;

/// Length of FastLZ's (level 1) output for this input.
fn fast_lz_length(input: &[u8]) -> u64 {
    let end = input.len().saturating_sub(TAIL);
    let mut seen = [0u32; WINDOW];
    let mut length = 0;
    let mut written = 0;
    let mut next = 2;
    while let Some((at, earlier)) = find(input, &mut seen, next, end) {
        length += literals(at - written) + repeated(match_length(input, earlier, at, end));
        let after = at + match_length(input, earlier, at, end);
        for place in [after, after + 1] {
            seen[slot(triple(input, place))] = place as u32;
        }
        next = after + 2;
        written = next;
    }
    length + literals(input.len() - written)
}

/// The next position before `end` whose three bytes occurred earlier, and the earlier one. A match at the last position is useless.
fn find(input: &[u8], seen: &mut [u32; WINDOW], from: usize, end: usize) -> Option<(usize, usize)> {
    for at in from..end {
        let bytes = triple(input, at);
        let earlier = std::mem::replace(&mut seen[slot(bytes)], at as u32) as usize;
        if at - earlier < WINDOW && bytes == triple(input, earlier) {
            return (at + 1 < end).then_some((at, earlier));
        }
    }
    None
}

/// Number of bytes after the first three, up to and including the first that differs.
fn match_length(input: &[u8], earlier: usize, at: usize, end: usize) -> usize {
    let most = end + 9 - (at + MIN_MATCH);
    let same = (0..most).take_while(|by| input[earlier + MIN_MATCH + by] == input[at + MIN_MATCH + by]).count();
    most.min(same + 1)
}

fn literals(count: usize) -> u64 {
    let (full, rest) = (count / 32, count % 32);
    (33 * full + if rest == 0 { 0 } else { rest + 1 }) as u64
}

fn repeated(length: usize) -> u64 {
    let length = length - 1;
    (3 * (length / 262) + if length % 262 >= 6 { 3 } else { 2 }) as u64
}

fn triple(input: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([input[at], input[at + 1], input[at + 2], 0])
}

fn slot(bytes: u32) -> usize {
    ((u64::from(bytes) * 2_654_435_769) >> 19) as usize % WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    /// Values from op-geth's rollup_cost_test.go and solady's tests.
    #[test]
    fn lengths_are_those_of_the_reference() {
        assert_eq!(fast_lz_length(&[]), 0);
        assert_eq!(fast_lz_length(&[0; 1_000]), 21);
        assert_eq!(fast_lz_length(&[42; 1_000]), 21);
        assert_eq!(fast_lz_length(&hex!("FACADE")), 4);
        let call = hex!(
            "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8e41ef24f3f000000000000"
            "000000000000000000000000000000000000000000000000006e000000000000000000000000af88d065e77c8cc2239327c5edb3a432268e583100"
            "0000000000000000000000000000000000000000000000000000000003c1e50000000000000000000000000000000000000000000000000000"
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000a00000000000000000000000000000000000"
            "0000000000000000000000000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2c"
            "ba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec06449cb922b93b6a12744e"
        );
        assert_eq!(fast_lz_length(&call), 202);
    }

    #[test]
    fn nothing_repeated_is_copied_in_runs_of_32() {
        let input: Vec<u8> = (0..=255).collect();
        assert_eq!(fast_lz_length(&input), 256 + 8);
    }

    #[test]
    fn a_small_transaction_counts_as_a_hundred_bytes() {
        assert_eq!(compressed_size(&[0; 40]), 100_000_000);
    }
}
