//! Transfers that exceed 256 bits of balance. revm fails them without returning the sender's ether; geth wraps the balance around. Only
//! overridden balances are that high.

use revm::{
    context::JournalInner,
    context_interface::journaled_state::{
        JournalCheckpoint,
        entry::{JournalEntry, JournalEntryTr},
    },
    interpreter::{CallValue, FrameInput},
};

type Journal = JournalInner<JournalEntry>;

/// Makes a call's transfer if it would overflow, and marks its value as already transferred. Returns false if revm can make the transfer,
/// or rightly fails it.
pub fn transfer(journal: &mut Journal, input: &mut FrameInput) -> bool {
    let FrameInput::Call(call) = input else { return false };
    let CallValue::Transfer(value) = call.value else { return false };
    let (from, to) = (call.caller, call.target_address);
    if value.is_zero() || from == to {
        return false;
    }
    let Some(received) = journal.state.get(&to).map(|account| account.info.balance) else { return false };
    let (wrapped, overflows) = received.overflowing_add(value);
    if !overflows {
        return false;
    }
    let Some(sender) = journal.state.get_mut(&from) else { return false };
    let Some(left) = sender.info.balance.checked_sub(value) else { return false };
    sender.info.balance = left;
    if let Some(receiver) = journal.state.get_mut(&to) {
        receiver.info.balance = wrapped;
    }
    journal.touch(from);
    journal.touch(to);
    journal.journal.push(JournalEntry::balance_transfer(from, to, value));
    journal.eip7708_transfer_log(from, to, value);
    call.value = CallValue::Apparent(value);
    true
}

/// Reverts journal entries and logs added after the given counts.
pub fn revert(journal: &mut Journal, before: usize, logs: usize) {
    let checkpoint = JournalCheckpoint { journal_i: before, log_i: logs, ..journal.checkpoint() };
    journal.checkpoint_revert(checkpoint);
}
