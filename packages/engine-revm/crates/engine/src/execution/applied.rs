use crate::op::RollupReceipt;
use alloy_primitives::Log;
use revm::context_interface::result::{ExecutionResult, ResultGas};

/// A transaction's result.
pub struct Applied {
    pub succeeded: bool,
    pub gas: ResultGas,
    pub logs: Vec<Log>,
    /// For a signed transaction on an OP-stack chain.
    pub rollup: Option<RollupReceipt>,
}

impl Applied {
    pub fn of<HALT>(result: ExecutionResult<HALT>) -> Self {
        let gas = *result.gas();
        let (succeeded, logs) = match result {
            ExecutionResult::Success { logs, .. } => (true, logs),
            _ => (false, Vec::new()),
        };
        Self { succeeded, gas, logs, rollup: None }
    }
}
