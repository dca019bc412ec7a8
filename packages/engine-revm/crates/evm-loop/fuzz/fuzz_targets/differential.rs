#![no_main]

use libfuzzer_sys::fuzz_target;
use upfront_evm_loop::differential::Case;

fuzz_target!(|case: Case| {
    case.check();
});
