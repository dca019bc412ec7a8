use alloy_primitives::Log;
use revm::context_interface::result::ExecutionResult;

/// What a transaction did.
pub struct Applied {
    pub succeeded: bool,
    pub gas_used: u64,
    pub logs: Vec<Log>,
}

impl Applied {
    pub fn of<HALT>(result: ExecutionResult<HALT>) -> Self {
        let gas_used = result.tx_gas_used();
        match result {
            ExecutionResult::Success { logs, .. } => Self { succeeded: true, gas_used, logs },
            _ => Self { succeeded: false, gas_used, logs: Vec::new() },
        }
    }
}
