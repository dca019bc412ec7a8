//! Carries the state of a block to its child, and samples at most 2 * 16 words of it for an audit.

use super::difference::{Difference, Differs};
use crate::state::{Cached, NotCarried, Read, ReadError, StateCache, Writes};
use alloy_primitives::{B256, U256};

/// The result of carrying a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    Carried { written: u64, sample: Vec<Sampled> },
    Differs { difference: Difference, detail: String },
}

/// A word that a block wrote, or that was carried to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub read: Read,
    pub value: U256,
}

/// Limit of written words, and of other words, sampled for an audit.
const SAMPLED: usize = 16;

/// Carries the state of block `parent` to the block with this hash and number.
pub fn carry(
    cache: &StateCache,
    parent: B256,
    (hash, number): (B256, u64),
    writes: Result<Writes, Differs>,
) -> Result<Carried, ReadError> {
    let writes = match writes {
        Ok(writes) => writes,
        Err(Differs::Found { difference, detail }) => return Ok(Carried::Differs { difference, detail }),
        Err(Differs::Read(error)) => return Err(error),
    };
    let differs = |difference, detail: String| Ok(Carried::Differs { difference, detail });
    let mut sample = sample(&writes);
    match cache.carry(parent, hash, writes, number.saturating_sub(1)) {
        Ok(written) => {
            if let Some(state) = cache.find(hash) {
                let held =
                    state.sample_words(u64::from_be_bytes(*hash.last_chunk().unwrap_or(&[0; 8])) as usize, SAMPLED);
                sample.extend(held.into_iter().map(|(read, value)| Sampled { read, value }));
            }
            Ok(Carried::Carried { written: written as u64, sample })
        }
        Err(NotCarried::Parent) => differs(Difference::Parent, "the parent's state is no longer held".to_owned()),
        Err(NotCarried::ConflictingValue(read)) => differs(Difference::ConflictingValue, format!("{read:?}")),
    }
}

/// A sample of the written words, evenly spread.
fn sample(writes: &Writes) -> Vec<Sampled> {
    let words = || {
        writes.values.iter().filter_map(|(read, value)| match value {
            Cached::Word(value) => Some(Sampled { read: *read, value: *value }),
            Cached::Code(..) => None,
        })
    };
    let each = words().count().div_ceil(SAMPLED).max(1);
    words().step_by(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Address;

    #[test]
    fn samples_a_few_words_of_many() {
        let mut writes = Writes::default();
        assert_eq!(sample(&writes), []);
        for number in 0..1_000 {
            writes.values.push((Read::Storage(Address::ZERO, U256::from(number)), Cached::Word(U256::from(number))));
        }
        let sampled = sample(&writes);
        assert!(sampled.len() > 10 && sampled.len() <= SAMPLED, "{}", sampled.len());
    }
}
