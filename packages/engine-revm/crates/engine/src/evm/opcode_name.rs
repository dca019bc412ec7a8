use revm::bytecode::OpCode;
use std::borrow::Cow;

/// geth's name (core/vm/opcodes.go).
pub fn of(opcode: u8) -> Cow<'static, str> {
    let proposed = match opcode {
        0x4b => "SLOTNUM",
        0xd0 => "DATALOAD",
        0xd1 => "DATALOADN",
        0xd2 => "DATASIZE",
        0xd3 => "DATACOPY",
        0xe0 => "RJUMP",
        0xe1 => "RJUMPI",
        0xe2 => "RJUMPV",
        0xe3 => "CALLF",
        0xe4 => "RETF",
        0xe5 => "JUMPF",
        0xe6 => "DUPN",
        0xe7 => "SWAPN",
        0xe8 => "EXCHANGE",
        0xec => "EOFCREATE",
        0xee => "RETURNCONTRACT",
        0xf7 => "RETURNDATALOAD",
        0xf8 => "EXTCALL",
        0xf9 => "EXTDELEGATECALL",
        0xfb => "EXTSTATICCALL",
        _ => {
            return OpCode::new(opcode)
                .map_or_else(|| format!("opcode {opcode:#x} not defined").into(), |op| op.as_str().into());
        }
    };
    proposed.into()
}
