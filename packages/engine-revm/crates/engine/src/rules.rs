//! Forks by the names that the TypeScript half gives them.

use op_revm::OpSpecId;
use revm::primitives::hardfork::SpecId;

pub fn ethereum_fork(name: &str) -> Option<SpecId> {
    Some(match name {
        "paris" => SpecId::MERGE,
        "shanghai" => SpecId::SHANGHAI,
        "cancun" => SpecId::CANCUN,
        "prague" => SpecId::PRAGUE,
        "osaka" => SpecId::OSAKA,
        _ => return None,
    })
}

pub fn op_fork(name: &str) -> Option<OpSpecId> {
    Some(match name {
        "bedrock" => OpSpecId::BEDROCK,
        "regolith" => OpSpecId::REGOLITH,
        "canyon" => OpSpecId::CANYON,
        "ecotone" => OpSpecId::ECOTONE,
        "fjord" => OpSpecId::FJORD,
        "granite" => OpSpecId::GRANITE,
        "holocene" => OpSpecId::HOLOCENE,
        "isthmus" => OpSpecId::ISTHMUS,
        "jovian" => OpSpecId::JOVIAN,
        "karst" => OpSpecId::KARST,
        _ => return None,
    })
}
