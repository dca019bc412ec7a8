use alloy_primitives::{
    B256, Bytes, U256,
    map::{AddressMap, HashMap},
};
use revm::bytecode::Bytecode;

/// Code by its hash.
pub type Code = (B256, Bytecode);

/// What is known to differ from the pinned block. Absent fields are as below.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Code>,
    /// Slots that `storage` lacks are zero, whatever lies below.
    pub storage_cleared: bool,
    pub storage: HashMap<U256, U256>,
    /// There even when empty: geth's overrides make accounts that outlive EIP-161 until something touches them.
    pub exists: bool,
}

impl AccountChange {
    /// The slot's value, where this change decides it.
    pub fn slot(&self, slot: &U256) -> Option<U256> {
        self.storage.get(slot).copied().or(self.storage_cleared.then_some(U256::ZERO))
    }

    /// Adds what changed later.
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

    /// An account that is not there.
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

/// Code as the EVM runs it. What looks like a delegation but is none (EIP-7702 asks for 23 bytes) is plain code.
pub fn analysed(code: Bytes) -> Code {
    if code.is_empty() {
        return (revm::primitives::KECCAK_EMPTY, Bytecode::default());
    }
    let bytecode = Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code));
    (bytecode.hash_slow(), bytecode)
}

/// Pre-confirmed changes on top of the pinned block. Never mutated once made.
#[derive(Debug, Default)]
pub struct Layer {
    pub accounts: AddressMap<AccountChange>,
}
