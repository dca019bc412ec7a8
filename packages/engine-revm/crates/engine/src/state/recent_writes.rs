//! How many of the last blocks wrote a value.

use super::{read::Read, version::Position};
use alloy_primitives::map::{DefaultHashBuilder, HashMap};
use std::{collections::VecDeque, hash::BuildHasher};

/// Blocks that are counted.
const MOST_BLOCKS: usize = 100;
/// Values that these wrote, all blocks together: with more, fewer blocks are counted.
const MOST_VALUES: usize = 400_000;
/// A value in its block, and its place in the table of counts.
const VALUE_BYTES: usize = 8 + 18;

/// Of values no more than their digests are kept: some 10 MB at most.
#[derive(Default)]
pub(super) struct RecentWrites {
    /// Oldest first.
    blocks: VecDeque<(Position, Box<[u64]>)>,
    counts: HashMap<u64, u8>,
    values: usize,
    hasher: DefaultHashBuilder,
}

impl RecentWrites {
    /// Takes a block's writes. Those of blocks after its parent are of another branch, and go.
    pub(super) fn add<'a>(&mut self, parent: Position, to: Position, written: impl Iterator<Item = &'a Read>) {
        while self.blocks.back().is_some_and(|(position, _)| *position > parent) {
            let block = self.blocks.pop_back();
            self.forget(block);
        }
        let digests: Box<[u64]> =
            written.filter(|read| !matches!(read, Read::BlockHash(_))).map(|read| self.hasher.hash_one(read)).collect();
        for digest in &digests {
            *self.counts.entry(*digest).or_default() += 1;
        }
        self.values += digests.len();
        self.blocks.push_back((to, digests));
        while self.blocks.len() > MOST_BLOCKS || (self.values > MOST_VALUES && self.blocks.len() > 1) {
            let block = self.blocks.pop_front();
            self.forget(block);
        }
    }

    fn forget(&mut self, block: Option<(Position, Box<[u64]>)>) {
        let digests = block.map(|(_, digests)| digests).unwrap_or_default();
        self.values -= digests.len();
        for digest in &digests {
            if let Some(count) = self.counts.get_mut(digest) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(digest);
                }
            }
        }
    }

    /// How many blocks wrote the value, and how many are counted.
    pub(super) fn of(&self, read: &Read) -> (u64, u64) {
        let count = self.counts.get(&self.hasher.hash_one(read)).copied().unwrap_or_default();
        (u64::from(count), self.blocks.len() as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        self.values * VALUE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, U256};

    const HOT: Read = Read::Storage(Address::ZERO, U256::ZERO);

    #[test]
    fn counts_the_last_hundred_blocks() {
        let mut recent = RecentWrites::default();
        for block in 1..=250 {
            let cold = Read::Balance(Address::with_last_byte(block as u8));
            let hot = (block % 7 == 0).then_some(&HOT);
            recent.add(block - 1, block, hot.into_iter().chain([&cold]));
        }
        assert_eq!(recent.of(&HOT), (14, 100));
        assert_eq!(recent.of(&Read::Balance(Address::with_last_byte(250))), (1, 100));
        assert_eq!(recent.of(&Read::Balance(Address::with_last_byte(150))), (0, 100));
        assert_eq!((recent.counts.len(), recent.values), (101, 114));
    }

    #[test]
    fn forgets_a_branch_that_was_left() {
        let mut recent = RecentWrites::default();
        for block in 1..=5 {
            recent.add(block - 1, block, [&HOT].into_iter());
        }
        recent.add(3, 6, [].into_iter());
        assert_eq!(recent.of(&HOT), (3, 4));
    }

    #[test]
    fn counts_fewer_blocks_where_they_write_much() {
        let mut recent = RecentWrites::default();
        let slots: Vec<Read> = (0..150_000).map(|slot| Read::Storage(Address::ZERO, U256::from(slot))).collect();
        for block in 1..=5 {
            recent.add(block - 1, block, slots.iter());
        }
        assert_eq!(recent.of(&HOT), (2, 2));
        assert!(recent.bytes() < 16 << 20);
    }
}
