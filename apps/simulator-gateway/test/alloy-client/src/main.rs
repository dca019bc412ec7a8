//! Simulates one call that reverts and one that succeeds with alloy's own client, and prints what it understood.
//! Arguments: the URL, an address whose code the first call runs, and that code, in hex.

use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{Address, Bytes};
use alloy_provider::{Provider, ProviderBuilder};
use alloy_rpc_types_eth::{
    TransactionRequest,
    simulate::{SimBlock, SimulatePayload},
    state::{AccountOverride, StateOverride},
};
use std::{env, error::Error};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, target, code] = arguments.as_slice() else { return Err("usage: URL ADDRESS CODE".into()) };
    let target: Address = target.parse()?;
    let overrides = StateOverride::from_iter([(target, AccountOverride::default().with_code(code.parse::<Bytes>()?))]);
    let calls = [target, Address::ZERO].map(|to| TransactionRequest::default().to(to));
    let payload = SimulatePayload {
        block_state_calls: vec![SimBlock {
            state_overrides: Some(overrides),
            calls: calls.to_vec(),
            ..SimBlock::default()
        }],
        return_full_transactions: true,
        ..SimulatePayload::default()
    };

    let provider = ProviderBuilder::new().connect_http(url.parse()?);
    let blocks = provider.simulate(&payload).await?;
    let pending = provider.get_transaction_count(target).pending().await?;
    let head = provider.get_block_by_number(BlockNumberOrTag::Pending).await?;
    let transactions = head.ok_or("no pending block")?.transactions.len();
    let said = serde_json::json!({
        "calls": blocks[0].calls, "simulated": blocks[0].inner.transactions.len(), "pending": pending, "transactions": transactions,
    });
    println!("{said}");
    Ok(())
}
