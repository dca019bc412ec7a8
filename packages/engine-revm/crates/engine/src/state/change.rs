use alloy_primitives::{
    B256, Bytes, U256,
    map::{AddressMap, HashMap},
};
use revm::bytecode::Bytecode;

/// A code hash and the code.
pub type Code = (B256, Bytecode);

/// Known differences from the state below. Absent fields are unchanged.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Code>,
    /// Slots missing in `storage` are zero, whatever the state below has.
    pub storage_cleared: bool,
    pub storage: HashMap<U256, U256>,
    /// Exists even if empty: accounts from geth's overrides survive EIP-161 until touched.
    pub exists: bool,
}

impl AccountChange {
    /// The slot's value, if this change determines it.
    pub fn slot(&self, slot: &U256) -> Option<U256> {
        self.storage.get(slot).copied().or(self.storage_cleared.then_some(U256::ZERO))
    }

    /// Adds later changes.
    pub fn overlay(&mut self, later: &Self) {
        self.balance = later.balance.or(self.balance);
        self.nonce = later.nonce.or(self.nonce);
        if later.code.is_some() {
            self.code.clone_from(&later.code);
        }
        if later.storage_cleared {
            self.storage_cleared = true;
            self.storage.clear();
        }
        self.storage.extend(&later.storage);
        self.exists = later.exists;
    }

    /// A missing account.
    pub fn destroyed() -> Self {
        Self {
            balance: Some(U256::ZERO),
            nonce: Some(0),
            code: Some((revm::primitives::KECCAK_EMPTY, Bytecode::default())),
            storage_cleared: true,
            storage: HashMap::default(),
            exists: false,
        }
    }
}

/// Code analysed for the EVM. Code that only resembles a delegation (EIP-7702 requires 23 bytes) is plain code.
pub fn analysed(code: Bytes) -> Code {
    if code.is_empty() {
        return (revm::primitives::KECCAK_EMPTY, Bytecode::default());
    }
    let bytecode = Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code));
    (bytecode.hash_slow(), bytecode)
}

/// Pre-confirmed changes on top of the pinned block. Immutable.
#[derive(Debug, Default)]
pub struct Layer {
    pub accounts: AddressMap<AccountChange>,
}
