//! Compares carried states with complete ones.

use super::*;
use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressMap, HashMap},
};

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const ACCOUNTS: u64 = 6;
const SLOTS: u64 = 8;

fn account(number: u64) -> Address {
    Address::with_last_byte(number as u8 + 1)
}

/// A node's complete state: everything missing is zero or empty.
#[derive(Clone, Default)]
struct Whole {
    key: B256,
    number: u64,
    values: HashMap<Read, Value>,
}

impl Whole {
    fn value(&self, read: &Read) -> Value {
        let nothing = || match read {
            Read::Code(_) => Value::Code(Bytes::new()),
            _ => Value::Word(U256::ZERO),
        };
        self.values.get(read).cloned().unwrap_or_else(nothing)
    }

    fn apply(&mut self, changes: &AddressMap<AccountChange>) {
        for (address, change) in changes {
            if change.storage_cleared {
                self.values.retain(|read, _| !matches!(read, Read::Storage(of, _) if of == address));
            }
            let mut set = |read, value: Option<Value>| self.values.extend(value.map(|value| (read, value)));
            set(Read::Balance(*address), change.balance.map(Value::Word));
            set(Read::Nonce(*address), change.nonce.map(|nonce| Value::Word(U256::from(nonce))));
            set(Read::Code(*address), change.code.as_ref().map(|(_, code)| Value::Code(code.original_bytes())));
            for (slot, value) in &change.storage {
                set(Read::Storage(*address, *slot), Some(Value::Word(*value)));
            }
        }
    }
}

fn any_read(random: &mut Random, number: u64) -> Read {
    let address = account(random.below(ACCOUNTS));
    match random.below(8) {
        0 => Read::Balance(address),
        1 => Read::Nonce(address),
        2 => Read::Code(address),
        3 => Read::BlockHash(number - random.below(number.min(12))),
        _ => Read::Storage(address, U256::from(random.below(SLOTS))),
    }
}

fn any_changes(random: &mut Random) -> AddressMap<AccountChange> {
    let mut changes = AddressMap::default();
    for _ in 0..random.below(4) {
        let mut change = AccountChange {
            balance: random.chance(40).then(|| U256::from(random.below(5))),
            nonce: random.chance(30).then(|| random.below(5)),
            code: random.chance(20).then(|| analysed(Bytes::from(vec![0x5b; random.below(3) as usize]))),
            storage_cleared: random.chance(15),
            ..AccountChange::default()
        };
        for _ in 0..random.below(5) {
            change.storage.insert(U256::from(random.below(SLOTS)), U256::from(random.below(4)));
        }
        changes.insert(account(random.below(ACCOUNTS)), change);
    }
    changes
}

fn same(held: &Cached, value: &Value) -> bool {
    match (held, value) {
        (Cached::Word(held), Value::Word(value)) => held == value,
        (Cached::Code(_, held), Value::Code(value)) => held.original_bytes() == *value,
        _ => false,
    }
}

/// Blocks on random parents, read before, while and after they are carried: no cached value is ever wrong.
fn play(seed: u64, limit: usize, rounds: usize) -> (usize, usize) {
    let random = &mut Random(seed);
    let cache = StateCache::new(limit);
    let mut blocks = vec![Whole { key: B256::with_last_byte(1), number: 1_000, ..Whole::default() }];
    let mut standing: Vec<(usize, std::sync::Arc<PinnedState>)> = Vec::new();
    let (mut held, mut carried) = (0, 0);
    for round in 0..rounds {
        let newest = blocks.len() - 1;
        let parent = if random.chance(80) { newest } else { newest - random.below(6.min(newest as u64 + 1)) as usize };
        let changes = any_changes(random);
        let mut block = blocks[parent].clone();
        let (parent_key, parent_number) = (block.key, block.number);
        block.apply(&changes);
        block.number += 1;
        block.key = B256::from(U256::from(round as u64 + 2));
        block.values.insert(Read::BlockHash(parent_number), Value::Word(parent_key.into()));
        block.values.insert(Read::BlockHash(block.number), Value::Word(block.key.into()));
        if random.chance(30) {
            let cold = cache.pinned(block.key);
            for _ in 0..random.below(8) {
                let read = any_read(random, block.number);
                cold.store([(read, block.value(&read))]);
            }
        }
        match cache.carry(parent_key, block.key, changes.into(), parent_number) {
            Ok(_) => carried += 1,
            Err(NotCarried::Parent) => {}
            Err(conflict) => panic!("seed {seed}, round {round}: {conflict:?}"),
        }
        if let Some(state) = cache.find(block.key) {
            for (read, word) in state.sample_words(round, 8) {
                assert_eq!(Value::Word(word), block.value(&read), "seed {seed}, round {round}: {read:?} is sampled");
            }
        }
        blocks.push(block);
        if random.chance(20) {
            let of = blocks.len() - 1 - random.below(blocks.len().min(20) as u64) as usize;
            standing.push((of, cache.pinned(blocks[of].key)));
        }
        if standing.len() > 6 {
            standing.remove(0);
        }
        for _ in 0..12 {
            let of = blocks.len() - 1 - random.below(blocks.len().min(10) as u64) as usize;
            let on = cache.pinned(blocks[of].key);
            for (of, state) in standing.iter().cloned().chain([(of, on)]) {
                let read = any_read(random, blocks[of].number);
                match state.get(&read) {
                    Some(value) => {
                        held += 1;
                        assert!(
                            same(&value, &blocks[of].value(&read)),
                            "seed {seed}, round {round}: {read:?} is {value:?}"
                        );
                    }
                    None if random.chance(60) => drop(state.store([(read, blocks[of].value(&read))])),
                    None => {}
                }
            }
        }
    }
    (held, carried)
}

#[test]
fn nothing_held_is_wrong() {
    for seed in 1..=60 {
        let (held, carried) = play(seed * 7_919, 1 << 30, 200);
        assert!(held > 5_000 && carried > 150, "{held} held, {carried} carried: too few to tell");
    }
}

#[test]
fn nothing_held_is_wrong_where_little_is_kept() {
    for seed in 1..=60 {
        let (held, carried) = play(seed * 104_729, 30_000, 200);
        assert!(held > 2_000 && carried > 100, "{held} held, {carried} carried: too few to tell");
    }
}

#[test]
fn bytes_are_counted_to_the_end() {
    let cache = StateCache::new(1 << 30);
    let random = &mut Random(5);
    cache.pinned(B256::ZERO).store([(Read::Balance(account(0)), Value::Word(U256::from(1)))]);
    for block in 1..=300u64 {
        let key = |number: u64| B256::from(U256::from(number));
        cache.carry(key(block - 1), key(block), any_changes(random).into(), block - 1).unwrap();
        for slot in 0..SLOTS {
            let state = cache.pinned(key(block));
            let read = Read::Storage(account(random.below(ACCOUNTS)), U256::from(slot));
            if state.get(&read).is_none() {
                state.store([(read, Value::Word(U256::ZERO))]);
            }
        }
    }
    let bytes = cache.bytes();
    assert!(bytes > 10_000 && bytes < 200_000, "{bytes} bytes for a hundred values and 64 small blocks");
    cache.clear();
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn a_value_that_contradicts_what_was_carried_ends_carrying() {
    let key = B256::with_last_byte;
    let balance = Read::Balance(account(0));
    let change = |balance: u64| {
        let change = AccountChange { balance: Some(U256::from(balance)), ..AccountChange::default() };
        AddressMap::from_iter([(account(0), change)])
    };
    let cache = StateCache::new(1 << 20);
    cache.pinned(key(1));
    cache.pinned(key(2)).store([(balance, Value::Word(U256::from(8)))]);
    assert_eq!(cache.carry(key(1), key(2), change(7).into(), 1), Err(NotCarried::ConflictingValue(balance)));
    let cache = StateCache::new(1 << 20);
    cache.pinned(key(1));
    cache.carry(key(1), key(2), change(7).into(), 1).unwrap();
    cache.pinned(key(2)).store([(balance, Value::Word(U256::from(8)))]);
    assert_eq!(cache.carry(key(2), key(3), change(9).into(), 2), Err(NotCarried::ConflictingValue(balance)));
}

#[test]
fn a_state_is_carried_once_and_only_from_one_that_is_held() {
    let key = B256::with_last_byte;
    let cache = StateCache::new(1 << 20);
    assert_eq!(cache.carry(key(1), key(2), Writes::default(), 1), Err(NotCarried::Parent));
    cache.pinned(key(1));
    assert_eq!(cache.carry(key(1), key(2), Writes::default(), 1), Ok(2));
    assert_eq!(cache.carry(key(1), key(2), Writes::default(), 1), Ok(0));
}
