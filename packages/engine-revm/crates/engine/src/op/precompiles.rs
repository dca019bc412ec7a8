//! The precompiles of each OP-stack fork: Ethereum's, some with limited input (https://specs.optimism.io/protocol/precompiles.html), and
//! P256VERIFY before Ethereum had it.

use super::OpFork;
use crate::precompile_price;
use revm::precompile::{
    EthPrecompileResult, Precompile, PrecompileHalt, PrecompileId, PrecompileOutput, PrecompileResult, Precompiles,
    bls12_381,
    bls12_381_const::{G1_MSM_ADDRESS, G2_MSM_ADDRESS, PAIRING_ADDRESS},
    bn254, call_eth_precompile, secp256r1,
};

pub fn of(fork: OpFork) -> Precompiles {
    let mut set = Precompiles::new(fork.spec().into()).clone();
    if fork >= OpFork::Fjord {
        set.extend([if fork >= OpFork::Karst { secp256r1::P256VERIFY_OSAKA } else { secp256r1::P256VERIFY }]);
    }
    // Bytes: 586 pairs, 427, 300 (https://github.com/ethereum-optimism/specs/pull/904).
    match fork {
        OpFork::Karst => set.extend([pairing::<57_600>()]),
        fork if fork >= OpFork::Jovian => set.extend([pairing::<81_984>()]),
        fork if fork >= OpFork::Granite => set.extend([pairing::<112_687>()]),
        _ => {}
    }
    match fork {
        fork if fork >= OpFork::Jovian => set.extend(bls::<288_960, 278_784, 156_672>()),
        fork if fork >= OpFork::Isthmus => set.extend(bls::<513_760, 488_448, 235_008>()),
        _ => {}
    }
    set
}

fn pairing<const MOST: usize>() -> Precompile {
    Precompile::new(PrecompileId::Bn254Pairing, bn254::pair::ADDRESS, |input, gas, reservoir| {
        bounded::<MOST>(PrecompileHalt::Bn254PairLength, pair_price, pair, input, gas, reservoir)
    })
}

/// Input limits in bytes, for multi-scalar multiplications and pairings.
fn bls<const G1: usize, const G2: usize, const PAIRING: usize>() -> [Precompile; 3] {
    [
        Precompile::new(PrecompileId::Bls12G1Msm, G1_MSM_ADDRESS, |input, gas, reservoir| {
            bounded::<G1>(too_long(), precompile_price::g1_msm, bls12_381::g1_msm::g1_msm, input, gas, reservoir)
        }),
        Precompile::new(PrecompileId::Bls12G2Msm, G2_MSM_ADDRESS, |input, gas, reservoir| {
            bounded::<G2>(too_long(), precompile_price::g2_msm, bls12_381::g2_msm::g2_msm, input, gas, reservoir)
        }),
        Precompile::new(PrecompileId::Bls12Pairing, PAIRING_ADDRESS, |input, gas, reservoir| {
            bounded::<PAIRING>(
                too_long(),
                precompile_price::bls_pairing,
                bls12_381::pairing::pairing,
                input,
                gas,
                reservoir,
            )
        }),
    ]
}

fn pair(input: &[u8], gas: u64) -> EthPrecompileResult {
    bn254::run_pair(input, bn254::pair::ISTANBUL_PAIR_PER_POINT, bn254::pair::ISTANBUL_PAIR_BASE, gas)
}

fn pair_price(input: &[u8]) -> u64 {
    (input.len() / bn254::PAIR_ELEMENT_LEN) as u64 * bn254::pair::ISTANBUL_PAIR_PER_POINT
        + bn254::pair::ISTANBUL_PAIR_BASE
}

fn too_long() -> PrecompileHalt {
    PrecompileHalt::Other("input too long for this chain".into())
}

fn bounded<const MOST: usize>(
    refusal: PrecompileHalt,
    price: fn(&[u8]) -> u64,
    run: fn(&[u8], u64) -> EthPrecompileResult,
    input: &[u8],
    gas: u64,
    reservoir: u64,
) -> PrecompileResult {
    if input.len() > MOST {
        let halt = if price(input) > gas { PrecompileHalt::OutOfGas } else { refusal };
        return Ok(PrecompileOutput::halt(halt, reservoir));
    }
    Ok(call_eth_precompile(run, input, gas, reservoir))
}
