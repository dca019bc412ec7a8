//! Gas costs of precompiles for input of a length that they refuse: geth charges before it checks the length, revm after.

use alloy_primitives::U256;
use revm::precompile::{
    PrecompileHalt, PrecompileId,
    bls12_381_const::{
        DISCOUNT_TABLE_G1_MSM, DISCOUNT_TABLE_G2_MSM, G1_MSM_BASE_GAS_FEE, G1_MSM_INPUT_LENGTH, G2_MSM_BASE_GAS_FEE,
        G2_MSM_INPUT_LENGTH, PAIRING_INPUT_LENGTH, PAIRING_MULTIPLIER_BASE, PAIRING_OFFSET_BASE,
    },
    bls12_381_utils::msm_required_gas,
    modexp::osaka_gas_calc,
    utilities::right_pad_with_offset,
};

/// Gas. 0 if revm charges first, too.
pub fn of_refused(halt: &PrecompileHalt, input: &[u8]) -> u64 {
    match halt {
        PrecompileHalt::Bls12381G1MsmInputLength => g1_msm(input),
        PrecompileHalt::Bls12381G2MsmInputLength => g2_msm(input),
        PrecompileHalt::Bls12381PairingInputLength => bls_pairing(input),
        PrecompileHalt::ModexpEip7823LimitSize => modexp(input),
        _ => 0,
    }
}

/// Whether no gas limit can pay for it: MODEXP with an exponent of 4 GiB or more. A 32-bit build would truncate the length.
pub fn is_beyond(precompile: &PrecompileId, input: &[u8]) -> bool {
    let has = |at: usize, least: u64| word(input, at) >= U256::from(least);
    *precompile == PrecompileId::ModExp && has(32, 1 << 32) && (has(0, 1) || has(64, 1))
}

/// Gas (EIP-2537).
pub fn g1_msm(input: &[u8]) -> u64 {
    msm_required_gas(input.len() / G1_MSM_INPUT_LENGTH, &DISCOUNT_TABLE_G1_MSM, G1_MSM_BASE_GAS_FEE)
}

/// Gas (EIP-2537).
pub fn g2_msm(input: &[u8]) -> u64 {
    msm_required_gas(input.len() / G2_MSM_INPUT_LENGTH, &DISCOUNT_TABLE_G2_MSM, G2_MSM_BASE_GAS_FEE)
}

/// Gas (EIP-2537).
pub fn bls_pairing(input: &[u8]) -> u64 {
    PAIRING_MULTIPLIER_BASE * (input.len() / PAIRING_INPUT_LENGTH) as u64 + PAIRING_OFFSET_BASE
}

/// Gas (EIP-7883) for lengths beyond EIP-7823's limits.
fn modexp(input: &[u8]) -> u64 {
    let [base, exponent, modulus] = [0, 32, 64].map(|at| word(input, at).saturating_to::<u64>());
    let head = word(input.get(96..).unwrap_or_default(), usize::try_from(base).unwrap_or(usize::MAX));
    // A shorter exponent has only its own bytes.
    let head = head >> (8 * (32 - exponent.min(32)) as usize);
    osaka_gas_calc(base, exponent, modulus, &head)
}

fn word(data: &[u8], at: usize) -> U256 {
    U256::from_be_bytes(right_pad_with_offset::<32>(data, at).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EIP-7883: 2 * words^2 * iterations, for 1,025 bytes with an exponent of one bit, and with an exponent of 32 bytes.
    #[test]
    fn lengths_beyond_the_limit_have_a_price() {
        let sized = |base: u64, exponent: u64, rest: &[u8]| {
            let words = [base, exponent, 1].map(|length| U256::from(length).to_be_bytes::<32>());
            [&words.concat(), rest].concat()
        };
        assert_eq!(modexp(&sized(1_025, 1, &[])), 2 * 129 * 129);
        let rest = [&[0; 1_025][..], &[0x80]].concat();
        assert_eq!(modexp(&sized(1_025, 1, &rest)), 2 * 129 * 129 * 7);
        assert_eq!(modexp(&sized(1_025, 32, &rest)), 2 * 129 * 129 * 255);
        assert_eq!(modexp(&[0xff; 96]), u64::MAX);
    }

    #[test]
    fn points_count_as_far_as_they_are_whole() {
        assert_eq!(of_refused(&PrecompileHalt::Bls12381G1MsmInputLength, &[0; 161]), 12_000);
        assert_eq!(of_refused(&PrecompileHalt::Bls12381G2MsmInputLength, &[]), 0);
        assert_eq!(of_refused(&PrecompileHalt::Bls12381PairingInputLength, &[0; 383]), 37_700);
        assert_eq!(of_refused(&PrecompileHalt::Bn254PairLength, &[0; 193]), 0);
    }
}
