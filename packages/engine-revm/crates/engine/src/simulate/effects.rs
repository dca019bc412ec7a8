use crate::outcome::{ExecutedCall, Frame, FrameKind, Status};
use alloy_primitives::{Address, B256, U256, keccak256};

/// A digest of a call's effects: whether it failed, what it sent and logged. If something is sent to the fee recipient, it is named by
/// role. Calls with equal digests have equal effects in `packages/simulation/src/outcome/effects.ts`.
pub fn digest(call: &ExecutedCall, frames: &[Frame], fee_recipient: Address) -> B256 {
    if call.status != Status::Success {
        return B256::ZERO;
    }
    let mut encoded = Vec::with_capacity(512);
    for (from, to, value) in transfers(frames) {
        for account in [from, to] {
            let is_paid_for_block = account == fee_recipient;
            encoded.push(u8::from(is_paid_for_block));
            encoded.extend_from_slice(if is_paid_for_block { Address::ZERO } else { account }.as_slice());
        }
        encoded.extend_from_slice(&value.to_be_bytes::<32>());
    }
    for log in call.logs.iter().filter(|log| !log.synthetic) {
        // A value that is no flag of a transfer.
        encoded.push(2);
        encoded.extend_from_slice(log.address.as_slice());
        encoded.push(log.topics.len() as u8);
        for topic in &log.topics {
            encoded.push(u8::from(Address::from_word(*topic) == fee_recipient));
            encoded.extend_from_slice(topic.as_slice());
        }
        encoded.extend_from_slice(&(log.data.len() as u64).to_be_bytes());
        encoded.extend_from_slice(&log.data);
    }
    keccak256(encoded)
}

/// Transfers of native currency by frames that did not fail.
fn transfers(frames: &[Frame]) -> impl Iterator<Item = (Address, Address, U256)> {
    let mut failed_at: Option<u64> = None;
    frames.iter().filter_map(move |frame| {
        if failed_at.is_none_or(|depth| frame.depth <= depth) {
            failed_at = (frame.reverted || frame.halt.is_some()).then_some(frame.depth);
        }
        let moves = !matches!(frame.kind, FrameKind::CallCode | FrameKind::DelegateCall) && failed_at.is_none();
        let value = frame.value.filter(|value| moves && !value.is_zero())?;
        Some((frame.from, frame.to.unwrap_or_default(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ExecutedLog;
    use alloy_primitives::{Bytes, address};

    const PAYER: Address = address!("a000000000000000000000000000000000000001");
    const FRIEND: Address = address!("f000000000000000000000000000000000000001");
    const BUILDER: Address = address!("b000000000000000000000000000000000000001");

    fn paying(to: Address, value: u64) -> Frame {
        Frame { value: Some(U256::from(value)), ..Frame::new(FrameKind::Call, 0, PAYER, Some(to)) }
    }

    fn call(logs: Vec<ExecutedLog>) -> ExecutedCall {
        ExecutedCall {
            tx_hash: B256::ZERO,
            nonce: 0,
            gas: 0,
            gas_used: 0,
            max_used_gas: 0,
            status: Status::Success,
            return_data: Bytes::new(),
            logs,
            record: None,
        }
    }

    #[test]
    fn tells_what_is_sent_save_by_frames_that_failed() {
        let digest = |frames: &[Frame]| digest(&call(Vec::new()), frames, BUILDER);
        let sent = digest(&[paying(FRIEND, 5)]);
        assert_ne!(sent, digest(&[paying(FRIEND, 6)]));
        assert_ne!(sent, digest(&[paying(PAYER, 5)]));
        let deeper = Frame { depth: 2, ..paying(PAYER, 7) };
        let failed = Frame { depth: 1, reverted: true, ..paying(PAYER, 7) };
        assert_eq!(sent, digest(&[paying(FRIEND, 5), failed.clone(), deeper.clone()]));
        assert_ne!(sent, digest(&[paying(FRIEND, 5), failed, Frame { depth: 1, ..deeper }]));
        assert_eq!(digest(&[]), digest(&[paying(FRIEND, 0)]));
    }

    #[test]
    fn tells_whoever_gets_the_fees_from_others() {
        let by = |to, builder| digest(&call(Vec::new()), &[paying(to, 5)], builder);
        assert_eq!(by(BUILDER, BUILDER), by(FRIEND, FRIEND));
        assert_ne!(by(BUILDER, BUILDER), by(BUILDER, FRIEND));
        let log = ExecutedLog {
            address: PAYER,
            topics: vec![BUILDER.into_word()],
            data: Bytes::new(),
            synthetic: false,
            index: 0,
        };
        let encoded = |builder| digest(&call(vec![log.clone()]), &[], builder);
        assert_ne!(encoded(BUILDER), encoded(FRIEND));
        let traced = ExecutedLog { synthetic: true, ..log.clone() };
        assert_eq!(digest(&call(vec![traced]), &[], BUILDER), digest(&call(Vec::new()), &[], BUILDER));
    }
}
