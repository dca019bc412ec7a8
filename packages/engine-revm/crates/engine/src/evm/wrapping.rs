//! Transfers that take a balance beyond 256 bits. revm fails them and does not give the sender its ether back; geth wraps the
//! balance around. Only overridden balances come so far.

use revm::{
    context::JournalInner,
    context_interface::journaled_state::{
        JournalCheckpoint,
        entry::{JournalEntry, JournalEntryTr},
    },
    interpreter::{CallValue, FrameInput},
};

type Journal = JournalInner<JournalEntry>;

/// Makes the transfer of a call that would overflow, and leaves its value to be seen alone. False: revm can make it, or fails it
/// rightly.
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

/// Takes back what was journaled and logged since there were so many of each.
pub fn revert(journal: &mut Journal, before: usize, logs: usize) {
    let checkpoint = JournalCheckpoint { journal_i: before, log_i: logs, ..journal.checkpoint() };
    journal.checkpoint_revert(checkpoint);
}
