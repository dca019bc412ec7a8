use alloy_primitives::Log;
use revm::context_interface::result::{ExecutionResult, ResultGas};

/// What a transaction did.
pub struct Applied {
    pub succeeded: bool,
    pub gas: ResultGas,
    pub logs: Vec<Log>,
}

impl Applied {
    pub fn of<HALT>(result: ExecutionResult<HALT>) -> Self {
        let gas = *result.gas();
        match result {
            ExecutionResult::Success { logs, .. } => Self { succeeded: true, gas, logs },
            _ => Self { succeeded: false, gas, logs: Vec::new() },
        }
    }
}
