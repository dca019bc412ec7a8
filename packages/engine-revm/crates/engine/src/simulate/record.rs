//! Accounts and slots that a recorded call read or changed, before and after it.

use crate::{
    evm::{Evm, Lookups, Recorder},
    outcome::{AccountFacts, CallRecord, RecordedAccount, RecordedSlot},
    plan::{PlannedCall, Recording},
    rejection::Fault,
    state::Read,
};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, map::AddressMap, map::AddressSet};
use revm::{
    Database,
    context_interface::transaction::AuthorizationTr,
    state::{Account, AccountInfo, EvmState},
};

/// Approximate bytes of an account without code, and of a slot.
const ACCOUNT_BYTES: usize = 256;
const SLOT_BYTES: usize = 160;
const FACT_BYTES: usize = 192;

/// Called before the call runs. `left`: remaining bytes of the answer.
pub fn begin(recording: Recording, evm: &mut Evm, call: &PlannedCall, left: usize) -> Result<(), Fault> {
    if !recording.is_on() {
        return Ok(());
    }
    let mut recorder = Recorder::new(recording, left);
    if recording.state {
        let to = match call.to {
            Some(to) => to,
            // By the account's nonce, whatever the call names.
            None => call.from.create(evm.state().basic(call.from)?.map_or(0, |sender| sender.nonce)),
        };
        let code = evm.state().basic(to)?.and_then(|info| info.code);
        let delegate = code.and_then(|code| code.eip7702_address());
        if call.to.is_none() {
            recorder.lookups.created.insert(to);
        }
        let named = [call.from, to, evm.inner.ctx.block.beneficiary];
        named.into_iter().chain(delegate).for_each(|address| recorder.read(address));
        // As in geth, by the transaction's type: with a gas price it is a legacy one.
        if call.tx_type == 4 {
            authorities(call, None).for_each(|address| recorder.read(address));
        }
    }
    evm.inner.ctx.chain.recorder = Some(Box::new(recorder));
    if recording.depends {
        evm.inner.ctx.chain.tracker.get_or_insert_default().begin(recording.later);
    }
    Ok(())
}

/// Called after the call ran, before its changes are committed. Subtracts the record's size from `left`.
pub fn end(
    evm: &mut Evm,
    call: &PlannedCall,
    nonce: u64,
    changes: &EvmState,
    left: &mut usize,
) -> Result<Option<Box<CallRecord>>, Fault> {
    let Some(mut recorder) = evm.inner.ctx.chain.recorder.take() else { return Ok(None) };
    let lookups = std::mem::take(&mut recorder.lookups);
    let accounts = if recorder.recording.state {
        accounts(evm, call, nonce, changes, lookups, &mut recorder)?
    } else {
        balances(evm, changes, &mut recorder)?
    };
    let mut dependencies = evm.inner.ctx.chain.tracker.as_mut().map(|tracker| tracker.finish());
    if let Some(dependencies) = &mut dependencies {
        for fact in &mut dependencies.facts {
            if let Some(read) = fact.state_read() {
                (fact.changed, fact.blocks) = evm.state().recent_changes(&read);
            }
        }
        recorder.take(dependencies.facts.len() * FACT_BYTES);
    }
    if recorder.overflowed {
        return Err(Fault::TooLong);
    }
    let preimages = recorder.take_preimages();
    let (frames, steps, rest) = recorder.finish();
    *left = rest;
    Ok(Some(Box::new(CallRecord { frames, accounts, steps, preimages, dependencies, ..CallRecord::default() })))
}

/// The accounts that frames send native currency to or from, without code and slots.
fn balances(evm: &mut Evm, changes: &EvmState, recorder: &mut Recorder) -> Result<Vec<RecordedAccount>, Fault> {
    let mut accounts = Vec::new();
    for address in recorder.paid() {
        let mut account = account(evm, address, changes.get(&address))?;
        (account.before.code, account.after.code) = (None, None);
        recorder.take(ACCOUNT_BYTES);
        accounts.push(account);
    }
    Ok(accounts)
}

fn accounts(
    evm: &mut Evm,
    call: &PlannedCall,
    nonce: u64,
    changes: &EvmState,
    lookups: Lookups,
    recorder: &mut Recorder,
) -> Result<Vec<RecordedAccount>, Fault> {
    let unlisted = unlisted(evm, call, nonce);
    evm.state().prefetch(unchanged(call, changes, &lookups))?;
    let mut accounts: AddressMap<RecordedAccount> = AddressMap::default();
    let changed = changes.iter().filter(|(_, account)| is_changed(account)).map(|(address, _)| *address);
    let listed = call.access_list.iter().map(|(address, _)| *address);
    let slots = lookups.slots.keys().map(|(address, _)| *address);
    for address in changed.chain(listed).chain(slots).chain(lookups.accounts.keys().copied()) {
        if accounts.contains_key(&address) {
            continue;
        }
        let mut account = account(evm, address, changes.get(&address))?;
        if recorder.recording.without_code {
            (account.before.code, account.after.code) = (None, None);
        }
        let code = account.before.code.iter().chain(&account.after.code).map(|code| code.len()).sum::<usize>();
        if !recorder.take(ACCOUNT_BYTES + code) {
            return Ok(Vec::new());
        }
        accounts.insert(address, account);
    }
    for account in accounts.values_mut() {
        let lookup = lookups.accounts.get(&account.address).copied().unwrap_or_default();
        account.is_read = lookup.is_read;
        account.is_accessed = lookup.is_accessed && !unlisted.contains(&account.address);
        account.is_removed = lookups.removed.contains(&account.address);
    }
    let mut slots: AddressMap<AddressSlots> = AddressMap::default();
    for (address, change) in changes {
        for (slot, _) in change.storage.iter().filter(|(_, value)| value.is_changed()) {
            slots.entry(*address).or_default().entry(*slot).or_default();
        }
    }
    for ((address, slot), lookup) in &lookups.slots {
        let recorded = slots.entry(*address).or_default().entry(*slot).or_default();
        (recorded.is_read, recorded.is_accessed) = (lookup.is_read, lookup.is_accessed);
    }
    for (address, keys) in call.access_list.iter().filter(|(address, _)| !unlisted.contains(address)) {
        if let Some(account) = accounts.get_mut(address) {
            account.is_accessed = true;
        }
        for key in keys {
            slots.entry(*address).or_default().entry(U256::from_be_bytes(key.0)).or_default().is_accessed = true;
        }
    }
    for (address, slots) in slots {
        let Some(account) = accounts.get_mut(&address) else { continue };
        let mut slots: Vec<(U256, SlotFlags)> = slots.into_iter().collect();
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        for (slot, lookup) in slots {
            if !recorder.take(SLOT_BYTES) {
                return Ok(Vec::new());
            }
            let change = changes.get(&address).and_then(|change| change.storage.get(&slot));
            let (before, after) = match change {
                Some(value) => (value.original_value, value.present_value),
                None => {
                    let value = evm.state().storage(address, slot)?;
                    (value, value)
                }
            };
            let after = if account.after.exists { after } else { U256::ZERO };
            account.slots.push(RecordedSlot {
                slot: B256::from(slot),
                is_read: lookup.is_read,
                is_accessed: lookup.is_accessed,
                before: B256::from(before),
                after: B256::from(after),
            });
        }
    }
    Ok(accounts.into_values().collect())
}

/// Recorded accounts and slots that the call did not load, mostly from its access list.
fn unchanged(call: &PlannedCall, changes: &EvmState, lookups: &Lookups) -> Vec<Read> {
    let listed = call.access_list.iter().map(|(address, _)| *address);
    let accounts = listed.chain(lookups.accounts.keys().copied()).filter(|address| !changes.contains_key(address));
    let mut reads: Vec<Read> = accounts.flat_map(Read::account).collect();
    let keys = call
        .access_list
        .iter()
        .flat_map(|(address, keys)| keys.iter().map(|key| (*address, U256::from_be_bytes(key.0))));
    let slots = keys.chain(lookups.slots.keys().copied());
    let is_loaded = |(address, slot): &(Address, U256)| {
        changes.get(address).is_some_and(|account| account.storage.contains_key(slot))
    };
    reads.extend(slots.filter(|slot| !is_loaded(slot)).map(|(address, slot)| Read::Storage(address, slot)));
    reads
}

type AddressSlots = alloy_primitives::map::HashMap<U256, SlotFlags>;

#[derive(Clone, Copy, Default)]
struct SlotFlags {
    is_read: bool,
    is_accessed: bool,
}

/// Sender, recipient, precompiles and authorities, which are warm anyway. The access list names them only with slots.
fn unlisted(evm: &Evm, call: &PlannedCall, nonce: u64) -> AddressSet {
    let to = call.to.unwrap_or_else(|| call.from.create(nonce));
    let precompiles = evm.inner.precompiles.warm().iter().copied();
    let chain_id = evm.inner.ctx.cfg.chain_id;
    [call.from, to].into_iter().chain(precompiles).chain(authorities(call, Some(chain_id))).collect()
}

/// Signers of the call's authorizations; with a chain id, only of those for that chain or any, with a nonce below the maximum.
fn authorities(call: &PlannedCall, chain_id: Option<u64>) -> impl Iterator<Item = Address> {
    call.authorizations.iter().flatten().filter_map(move |authorization| {
        let elsewhere = |chain_id| !authorization.chain_id.is_zero() && authorization.chain_id != U256::from(chain_id);
        if chain_id.is_some_and(|chain_id| elsewhere(chain_id) || authorization.nonce == u64::MAX) {
            return None;
        }
        authorization.signed().authority()
    })
}

fn is_changed(account: &Account) -> bool {
    account.is_touched()
        && (account.is_selfdestructed()
            || account.changed_storage_slots().next().is_some()
            || account.info != account.original_info())
}

fn account(evm: &mut Evm, address: Address, change: Option<&Account>) -> Result<RecordedAccount, Fault> {
    let (before, after) = match change {
        Some(account) => {
            let original = account.original_info();
            let before = facts((!account.is_loaded_as_not_existing()).then_some(&original), true);
            let is_gone = account.is_touched() && (account.is_selfdestructed() || account.is_empty())
                || (!account.is_touched() && account.is_loaded_as_not_existing());
            let changes_code = is_gone || account.info.code_hash != original.code_hash;
            (before, facts((!is_gone).then_some(&account.info), changes_code))
        }
        None => {
            let info = evm.state().basic(address)?;
            (facts(info.as_ref(), true), facts(info.as_ref(), false))
        }
    };
    Ok(RecordedAccount {
        address,
        is_read: false,
        is_accessed: false,
        is_removed: false,
        before,
        after,
        slots: Vec::new(),
    })
}

fn facts(info: Option<&AccountInfo>, with_code: bool) -> AccountFacts {
    let code = |info: &AccountInfo| info.code.as_ref().map(|code| code.original_bytes()).unwrap_or_default();
    AccountFacts {
        exists: info.is_some(),
        balance: info.map_or(U256::ZERO, |info| info.balance),
        nonce: info.map_or(0, |info| info.nonce),
        code_hash: info.map_or(KECCAK256_EMPTY, |info| info.code_hash),
        code: with_code.then(|| info.map(code).unwrap_or_default()),
    }
}
