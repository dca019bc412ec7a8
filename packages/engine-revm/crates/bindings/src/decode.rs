//! Text to plans, layers and values.

use crate::tokens::{Decoded, Malformed, Tokens, address, bytes, hash, number, word};
use upfront_engine::{
    plan::{
        Authorization, BaseFeeParameters, BlobParameters, BlockRules, ChainRules, MappingRead, ParentHeader, Plan,
        PlannedBlock, PlannedCall, StateOverride, StorageOverride, Withdrawal,
    },
    primitives::U256,
    rules,
    state::{AccountChange, Layer, Read, Value, analysed},
    stretch::{BlockEnvironment, Stretch},
};

pub fn plan(text: &str) -> Decoded<Plan> {
    let t = &mut Tokens::new(text);
    Ok(Plan {
        chain: chain(t)?,
        base: parent(t)?,
        validation: t.flag()?,
        trace_transfers: t.flag()?,
        gas_budget: t.number()?,
        da_footprint_scalar: t.optional(number)?,
        likely_reads: t
            .list(|t| Ok(MappingRead { contract: t.address()?, key: t.address()?, position: t.number()? }))?,
        blocks: t.list(block)?,
    })
}

fn chain(t: &mut Tokens<'_>) -> Decoded<ChainRules> {
    let chain_id = t.number()?;
    let deposit_contract = t.optional(address)?;
    Ok(ChainRules { chain_id, deposit_contract })
}

fn block_rules(t: &mut Tokens<'_>) -> Decoded<BlockRules> {
    let spec = rules::ethereum_fork(t.next()?).ok_or(Malformed("an unknown fork"))?;
    let op = match t.optional(Ok)? {
        Some(name) => Some(rules::op_fork(name).ok_or(Malformed("an unknown OP fork"))?),
        None => None,
    };
    let blob = match t.optional(number)? {
        Some(target) => Some(BlobParameters { target, max: t.number()?, update_fraction: t.number()? }),
        None => None,
    };
    Ok(BlockRules { spec, op, blob })
}

fn parent(t: &mut Tokens<'_>) -> Decoded<ParentHeader> {
    Ok(ParentHeader {
        hash: t.hash()?,
        number: t.number()?,
        timestamp: t.number()?,
        gas_limit: t.number()?,
        gas_used: t.number()?,
        base_fee: t.word()?,
        blob_gas_used: t.number()?,
        excess_blob_gas: t.number()?,
        withdrawals_root: t.optional(hash)?,
        rules: block_rules(t)?,
    })
}

fn block(t: &mut Tokens<'_>) -> Decoded<PlannedBlock> {
    Ok(PlannedBlock {
        number: t.number()?,
        timestamp: t.number()?,
        gas_limit: t.number()?,
        fee_recipient: t.address()?,
        prev_randao: t.hash()?,
        base_fee: t.optional(word)?,
        base_fee_parameters: BaseFeeParameters {
            elasticity: t.number()?,
            denominator: t.number()?,
            minimum: t.word()?,
        },
        blob_base_fee: t.optional(word)?,
        parent_beacon_block_root: t.optional(hash)?,
        extra_data: t.bytes()?,
        rules: block_rules(t)?,
        withdrawals: t.list(withdrawal)?,
        overrides: t.list(state_override)?,
        calls: t.list(call)?,
    })
}

fn withdrawal(t: &mut Tokens<'_>) -> Decoded<Withdrawal> {
    Ok(Withdrawal { index: t.number()?, validator_index: t.number()?, address: t.address()?, amount: t.number()? })
}

fn state_override(t: &mut Tokens<'_>) -> Decoded<StateOverride> {
    Ok(StateOverride {
        address: t.address()?,
        balance: t.optional(word)?,
        nonce: t.optional(number)?,
        code: t.optional(bytes)?,
        move_precompile_to: t.optional(address)?,
        storage: match t.next()? {
            "state" => StorageOverride::Replace(t.list(slot)?),
            "stateDiff" => StorageOverride::Diff(t.list(slot)?),
            _ => StorageOverride::None,
        },
    })
}

fn slot(t: &mut Tokens<'_>) -> Decoded<(U256, U256)> {
    Ok((t.hash()?.into(), t.hash()?.into()))
}

fn call(t: &mut Tokens<'_>) -> Decoded<PlannedCall> {
    Ok(PlannedCall {
        tx_type: t.number()? as u8,
        from: t.address()?,
        to: t.optional(address)?,
        input: t.bytes()?,
        value: t.word()?,
        nonce: t.optional(number)?,
        gas: t.optional(number)?,
        gas_price: t.optional(word)?,
        max_fee: t.word()?,
        max_priority_fee: t.word()?,
        max_blob_fee: t.word()?,
        access_list: t.list(|t| Ok((t.address()?, t.list(Tokens::hash)?)))?,
        blob_hashes: t.optional_list(Tokens::hash)?,
        authorizations: t.optional_list(authorization)?,
    })
}

fn authorization(t: &mut Tokens<'_>) -> Decoded<Authorization> {
    Ok(Authorization {
        chain_id: t.word()?,
        address: t.address()?,
        nonce: t.number()?,
        // Parities above 255 sign nothing, as 255 does.
        y_parity: t.word()?.saturating_to(),
        r: t.word()?,
        s: t.word()?,
    })
}

pub fn stretch(text: &str) -> Decoded<Stretch> {
    let t = &mut Tokens::new(text);
    Ok(Stretch {
        chain: chain(t)?,
        block: BlockEnvironment {
            number: t.number()?,
            timestamp: t.number()?,
            parent_hash: t.hash()?,
            gas_limit: t.number()?,
            fee_recipient: t.address()?,
            prev_randao: t.hash()?,
            base_fee: t.number()?,
            parent_beacon_block_root: t.optional(hash)?,
            excess_blob_gas: t.number()?,
            rules: block_rules(t)?,
        },
        opening: t.flag()?,
        transactions: t.list(Tokens::bytes)?,
        earlier_receipts: t.list(Tokens::bytes)?,
        earlier_gas_used: t.number()?,
        earlier_blob_gas_used: t.number()?,
    })
}

pub fn layer(text: &str) -> Decoded<Layer> {
    let t = &mut Tokens::new(text);
    let accounts = t.list(|t| {
        let address = t.address()?;
        let change = AccountChange {
            balance: t.optional(word)?,
            nonce: t.optional(number)?,
            code: t.optional(bytes)?.map(analysed),
            storage_cleared: t.flag()?,
            storage: t.list(slot)?.into_iter().collect(),
            exists: false,
        };
        Ok((address, change))
    })?;
    Ok(Layer { accounts: accounts.into_iter().collect() })
}

/// Values in the order and of the kinds of `reads`.
pub fn values(text: &str, reads: &[Read]) -> Decoded<Vec<Value>> {
    let t = &mut Tokens::new(text);
    reads
        .iter()
        .map(|read| match read {
            Read::Balance(_) | Read::Nonce(_) => t.word().map(Value::Word),
            Read::Code(_) => t.bytes().map(Value::Code),
            Read::Storage(..) | Read::BlockHash(_) => t.hash().map(|hash| Value::Word(hash.into())),
        })
        .collect()
}
