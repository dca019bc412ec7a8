//! OP-stack forks, including Base's own.

use super::precompiles;
use alloy_primitives::{Address, address};
use revm::{bytecode::Bytecode, precompile::Precompiles, primitives::hardfork::SpecId};
use std::sync::OnceLock;

/// Oldest first. A chain has either Karst, or Base's Azul and later.
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
    /// The Ethereum fork that it includes.
    pub fn spec(self) -> SpecId {
        match self {
            Self::Bedrock | Self::Regolith => SpecId::MERGE,
            Self::Canyon => SpecId::SHANGHAI,
            Self::Ecotone | Self::Fjord | Self::Granite | Self::Holocene => SpecId::CANCUN,
            Self::Isthmus | Self::Jovian => SpecId::PRAGUE,
            Self::Karst | Self::Azul | Self::Beryl | Self::Cobalt | Self::Denim => SpecId::OSAKA,
        }
    }

    pub fn precompiles(self) -> &'static Precompiles {
        static SETS: [OnceLock<Precompiles>; OpFork::Denim as usize + 1] =
            [const { OnceLock::new() }; OpFork::Denim as usize + 1];
        SETS[self as usize].get_or_init(|| precompiles::of(self))
    }

    /// Whether nodes run native code for calls to this account, in place of its code. The factory and registries are recognized by address,
    /// a token by address (`0xb2`, nine zero bytes) and its one-byte stub code. https://github.com/base/docs
    /// docs/specifications/b20/architecture.mdx
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Bytes;
    use revm::precompile::bn254;

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
