//! Requests to the consensus layer (EIP-7685): deposits (EIP-6110), withdrawals (EIP-7002), consolidations (EIP-7251), builder deposits and
//! exits (EIP-8282).

use super::system_calls::{BUILDER_DEPOSITS, BUILDER_EXITS, CONSOLIDATION_REQUESTS, WITHDRAWAL_REQUESTS, dequeue};
use crate::{
    evm::Evm,
    outcome::ExecutedLog,
    rejection::{Fault, Rejection, RequestQueue},
};
use alloy_eips::eip7685::Requests;
use alloy_primitives::{Address, B256, Bytes, b256};
use revm::primitives::hardfork::SpecId;

const DEPOSIT_EVENT: B256 = b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
const DEPOSIT_DATA: usize = 576;

/// Runs the request queues' system calls. Returns the hash of all requests of a block with these logs.
pub fn hash<'a>(
    evm: &mut Evm,
    deposit_contract: Option<Address>,
    logs: impl Iterator<Item = &'a ExecutedLog>,
) -> Result<B256, Fault> {
    let mut requests = Requests::default();
    requests.push_request_with_type(0, deposits(deposit_contract, logs)?);
    requests.push_request_with_type(1, dequeue(evm, WITHDRAWAL_REQUESTS, RequestQueue::Withdrawal)?);
    requests.push_request_with_type(2, dequeue(evm, CONSOLIDATION_REQUESTS, RequestQueue::Consolidation)?);
    if evm.inner.ctx.cfg.spec.is_enabled_in(SpecId::AMSTERDAM) {
        requests.push_request_with_type(3, dequeue(evm, BUILDER_DEPOSITS, RequestQueue::BuilderDeposit)?);
        requests.push_request_with_type(4, dequeue(evm, BUILDER_EXITS, RequestQueue::BuilderExit)?);
    }
    Ok(requests.requests_hash())
}

fn deposits<'a>(contract: Option<Address>, logs: impl Iterator<Item = &'a ExecutedLog>) -> Result<Bytes, Fault> {
    // As in geth: the zero address if the chain names no deposit contract.
    let contract = contract.unwrap_or_default();
    let mut deposits = Vec::new();
    for log in logs.filter(|log| log.address == contract && log.topics.first() == Some(&DEPOSIT_EVENT)) {
        let data = &log.data;
        if data.len() != DEPOSIT_DATA {
            return Err(Rejection::DepositLength { length: data.len() }.into());
        }
        // Public key, withdrawal credentials, amount, signature, index: each is padded to words and preceded by its length.
        for range in [192..240, 288..320, 352..360, 416..512, 544..552] {
            deposits.extend_from_slice(&data[range]);
        }
    }
    Ok(deposits.into())
}
