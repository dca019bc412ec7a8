//! Counts how many of the last blocks wrote a value.

use super::{read::Read, version::Position};
use alloy_primitives::map::DefaultHashBuilder;
use std::{collections::VecDeque, hash::BuildHasher};

/// Number of blocks counted.
const MAX_BLOCKS: usize = 100;
/// Limit of values written by all counted blocks. If exceeded, fewer blocks are counted.
const MAX_VALUES: usize = 400_000;
/// Stores only digests of values: some 3 MB at most.
#[derive(Default)]
pub(super) struct RecentWrites {
    /// Oldest first, each with sorted digests.
    blocks: VecDeque<(Position, Box<[u64]>)>,
    values: usize,
    hasher: DefaultHashBuilder,
}

impl RecentWrites {
    /// Adds a block's writes. Blocks after its parent are on another branch and dropped.
    pub(super) fn add(&mut self, parent: Position, to: Position, written: &[Read]) {
        while let Some((_, branch)) = self.blocks.pop_back_if(|(position, _)| *position > parent) {
            self.values -= branch.len();
        }
        let counted = written.iter().filter(|read| !matches!(read, Read::BlockHash(_)));
        let mut digests: Box<[u64]> = counted.map(|read| self.hasher.hash_one(read)).collect();
        digests.sort_unstable();
        self.values += digests.len();
        self.blocks.push_back((to, digests));
        while self.blocks.len() > MAX_BLOCKS || (self.values > MAX_VALUES && self.blocks.len() > 1) {
            self.values -= self.blocks.pop_front().map_or(0, |(_, oldest)| oldest.len());
        }
    }

    /// How many blocks wrote the value, and how many are counted.
    pub(super) fn of(&self, read: &Read) -> (u64, u64) {
        let digest = self.hasher.hash_one(read);
        let wrote = self.blocks.iter().filter(|(_, digests)| digests.binary_search(&digest).is_ok());
        (wrote.count() as u64, self.blocks.len() as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        self.values * size_of::<u64>()
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
            let hot = (block % 7 == 0).then_some(HOT);
            recent.add(block - 1, block, &hot.into_iter().chain([cold]).collect::<Vec<_>>());
        }
        assert_eq!(recent.of(&HOT), (14, 100));
        assert_eq!(recent.of(&Read::Balance(Address::with_last_byte(250))), (1, 100));
        assert_eq!(recent.of(&Read::Balance(Address::with_last_byte(150))), (0, 100));
        assert_eq!(recent.values, 114);
    }

    #[test]
    fn forgets_a_branch_that_was_left() {
        let mut recent = RecentWrites::default();
        for block in 1..=5 {
            recent.add(block - 1, block, &[HOT]);
        }
        recent.add(3, 6, &[]);
        assert_eq!(recent.of(&HOT), (3, 4));
    }

    #[test]
    fn counts_fewer_blocks_where_they_write_much() {
        let mut recent = RecentWrites::default();
        let slots: Vec<Read> = (0..150_000).map(|slot| Read::Storage(Address::ZERO, U256::from(slot))).collect();
        for block in 1..=5 {
            recent.add(block - 1, block, &slots);
        }
        assert_eq!(recent.of(&HOT), (2, 2));
        assert!(recent.bytes() < 16 << 20);
    }
}
