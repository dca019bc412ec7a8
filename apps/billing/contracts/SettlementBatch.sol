// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title Settles many x402 payments in one transaction of the facilitator's own account
/// @dev An account delegates itself to this code (EIP-7702) and then calls itself. The upto proxy sees that account as the caller,
/// which is what the witness of an `upto` payment names. No storage, no owner, no upgrade; only the account itself can call it, and it
/// moves no ether.
contract SettlementBatch {
    error OnlyTheAccountItself();

    /// @notice Tries every item; one that fails changes nothing for the others. Stops where too little gas is left to give an item
    /// what it may use. Behind the logs of each item stands a log without topics of one byte, 1 where it succeeded: whatever the
    /// transaction logged since the one before belongs to this item, and an item without it was not tried.
    /// @param items One behind the other. Each begins with its kind (1 byte) and the gas that it may use (4 bytes): a payer's own
    /// contract may run in it (ERC-1271). Packed, as calldata and logs are a tenth of what a settlement costs.
    /// - Kind 0: length (2) and calldata for the upto proxy.
    /// - Kind 1: token (20) and recipient (20), then as kind 2.
    /// - Kind 2: the proxy's `settle` with this account as the facilitator, token and recipient of the item before: length of the
    ///   signature (2), deadline (5), validAfter (5), amount (16), maximum (12), payer (20), Permit2 nonce (32), signature.
    /// - Kind 3: another contract to call (20), then as kind 0: the exact proxy, or a token that takes EIP-3009.
    function settle(bytes calldata items) external {
        if (msg.sender != address(this)) revert OnlyTheAccountItself();
        assembly ("memory-safe") {
            let input := mload(0x40)
            let end := add(items.offset, items.length)
            let token
            let recipient
            for { let at := items.offset } lt(at, end) {} {
                let word := calldataload(at)
                let limit := and(shr(216, word), 0xffffffff)
                let length
                let kind := byte(0, word)
                // x402's upto proxy, the same on every chain.
                let target := 0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002
                at := add(at, 5)
                if eq(kind, 3) {
                    target := shr(96, calldataload(at))
                    at := add(at, 20)
                    kind := 0
                }
                switch kind
                case 0 {
                    length := shr(240, calldataload(at))
                    at := add(at, 2)
                    calldatacopy(input, at, length)
                    at := add(at, length)
                }
                default {
                    if eq(kind, 1) {
                        token := shr(96, calldataload(at))
                        recipient := shr(96, calldataload(add(at, 20)))
                        at := add(at, 40)
                    }
                    // settle(((address token, uint256 maximum), uint256 nonce, uint256 deadline), uint256 amount, address payer,
                    //        (address recipient, address facilitator, uint256 validAfter), bytes signature)
                    mstore(input, shl(224, 0xff11e7b4))
                    mstore(add(input, 0x04), token)
                    word := calldataload(add(at, 28))
                    mstore(add(input, 0x24), shr(160, word))
                    mstore(add(input, 0x44), calldataload(add(at, 60)))
                    mstore(add(input, 0xa4), and(word, 0xffffffffffffffffffffffffffffffffffffffff))
                    word := calldataload(at)
                    mstore(add(input, 0x64), and(shr(200, word), 0xffffffffff))
                    mstore(add(input, 0x84), and(shr(32, word), 0xffffffffffffffffffffffffffffffff))
                    mstore(add(input, 0xc4), recipient)
                    mstore(add(input, 0xe4), address())
                    mstore(add(input, 0x104), and(shr(160, word), 0xffffffffff))
                    mstore(add(input, 0x124), 0x140)
                    length := shr(240, word)
                    mstore(add(input, 0x144), length)
                    let padded := and(add(length, 31), not(31))
                    // Zeros behind the signature; what is copied overwrites the rest of the word.
                    mstore(add(add(input, 0x144), padded), 0)
                    calldatacopy(add(input, 0x164), add(at, 92), length)
                    at := add(add(at, 92), length)
                    length := add(0x164, padded)
                }
                // A call gets 63/64 of what is left at most; 10,000 are for the call itself and the log.
                if lt(gas(), add(add(limit, div(limit, 63)), 10000)) { return(0, 0) }
                // Nothing of what it returns is copied: it may be as long as a payer's contract likes.
                mstore8(0, call(limit, target, 0, input, length, 0, 0))
                log0(0, 1)
            }
        }
    }

    /// @dev A delegated account is still topped up by plain transfers.
    receive() external payable {}
}
