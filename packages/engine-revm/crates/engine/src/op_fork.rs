//! OP-stack hard forks, and what Base's own bring.

use alloy_primitives::{Address, address};
use op_revm::{OpSpecId, precompiles::OpPrecompiles};
use revm::{
    bytecode::Bytecode,
    precompile::{
        EthPrecompileResult, Precompile, PrecompileHalt, PrecompileId, Precompiles, bn254, eth_precompile_fn,
    },
};
use std::sync::OnceLock;

/// Oldest first. A chain has Karst or, where it is Base's, Azul and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpFork {
    Bedrock,
    Regolith,
    Canyon,
    Ecotone,
    Fjord,
    Granite,
    Holocene,
    Isthmus,
    Jovian,
    Karst,
    Azul,
    Beryl,
    Cobalt,
    Denim,
}

impl OpFork {
    /// The rules of op-revm: Base's forks run what Karst runs.
    pub fn spec(self) -> OpSpecId {
        match self {
            Self::Bedrock => OpSpecId::BEDROCK,
            Self::Regolith => OpSpecId::REGOLITH,
            Self::Canyon => OpSpecId::CANYON,
            Self::Ecotone => OpSpecId::ECOTONE,
            Self::Fjord => OpSpecId::FJORD,
            Self::Granite => OpSpecId::GRANITE,
            Self::Holocene => OpSpecId::HOLOCENE,
            Self::Isthmus => OpSpecId::ISTHMUS,
            Self::Jovian => OpSpecId::JOVIAN,
            Self::Karst | Self::Azul | Self::Beryl | Self::Cobalt | Self::Denim => OpSpecId::KARST,
        }
    }

    /// op-revm's set for Karst keeps Jovian's limit on pairings, as Azul does; Karst lowers it.
    pub fn precompiles(self) -> &'static Precompiles {
        static KARST: OnceLock<Precompiles> = OnceLock::new();
        let set = OpPrecompiles::new_with_spec(self.spec()).precompiles();
        if self != Self::Karst {
            return set;
        }
        KARST.get_or_init(|| {
            let mut set = set.clone();
            set.extend([Precompile::new(PrecompileId::Bn254Pairing, bn254::pair::ADDRESS, karst_pairing)]);
            set
        })
    }

    /// Whether the chain runs code of its own for a call to this account, in place of the account's. The factory and the registries are
    /// known by address; a token by address (`0xb2`, nine zero bytes) and the one byte that stands for its code.
    /// https://github.com/base/docs docs/specifications/b20/architecture.mdx
    pub fn is_native(self, address: &Address, code: &Bytecode) -> bool {
        if self < Self::Beryl {
            return false;
        }
        let bytes = address.as_slice();
        let is_token = bytes[0] == 0xb2 && bytes[1..10] == [0; 9];
        NATIVE.contains(address) || (is_token && code.original_byte_slice() == [0xef])
    }
}

/// B20 factory, policy registry, activation registry (base/base-std src/StdPrecompiles.sol).
const NATIVE: [Address; 3] = [
    address!("b20f000000000000000000000000000000000000"),
    address!("8453000000000000000000000000000000000002"),
    address!("8453000000000000000000000000000000000001"),
];

/// 300 pairs (https://github.com/ethereum-optimism/specs/pull/904).
const KARST_PAIRING_BYTES: usize = 57_600;

eth_precompile_fn!(karst_pairing, run_karst_pairing);

fn run_karst_pairing(input: &[u8], gas_limit: u64) -> EthPrecompileResult {
    if input.len() > KARST_PAIRING_BYTES {
        return Err(PrecompileHalt::Bn254PairLength);
    }
    bn254::run_pair(input, bn254::pair::ISTANBUL_PAIR_PER_POINT, bn254::pair::ISTANBUL_PAIR_BASE, gas_limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Bytes;

    #[test]
    fn pairings_are_limited_by_fork() {
        let most = |fork: OpFork| {
            let pairing = fork.precompiles().get(&bn254::pair::ADDRESS).unwrap();
            let fits = |bytes: usize| !pairing.execute(&vec![0; bytes], u64::MAX, 0).unwrap().is_halt();
            assert!(fits(57_600));
            [57_792, 81_984, 82_176].map(fits)
        };
        assert_eq!(most(OpFork::Karst), [false, false, false]);
        for fork in [OpFork::Jovian, OpFork::Azul, OpFork::Denim] {
            assert_eq!(most(fork), [true, true, false], "{fork:?}");
        }
    }

    #[test]
    fn all_but_pairings_are_the_same_from_karst_on() {
        let karst = OpFork::Karst.precompiles();
        let azul = OpFork::Azul.precompiles();
        assert_eq!(karst.addresses_set(), azul.addresses_set());
    }

    #[test]
    fn native_code_is_told_by_address_and_code() {
        let stub = Bytecode::new_raw_checked(Bytes::from_static(&[0xef]))
            .unwrap_or_else(|_| Bytecode::new_legacy(Bytes::from_static(&[0xef])));
        let none = Bytecode::default();
        let token = address!("b200000000000000000001000000000000000abc");
        let other = address!("b200000000000000000100000000000000000abc");
        for fork in [OpFork::Beryl, OpFork::Cobalt, OpFork::Denim] {
            assert!(fork.is_native(&token, &stub));
            assert!(!fork.is_native(&token, &none));
            assert!(!fork.is_native(&other, &stub));
            assert!(fork.is_native(&NATIVE[0], &none));
        }
        for fork in [OpFork::Karst, OpFork::Azul] {
            assert!(!fork.is_native(&token, &stub));
            assert!(!fork.is_native(&NATIVE[0], &stub));
        }
    }
}
