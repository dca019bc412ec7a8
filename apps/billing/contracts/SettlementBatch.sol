// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title Settles many x402 `upto` payments in one transaction of the facilitator's own account
/// @dev An account delegates itself to this code (EIP-7702) and then calls itself. The upto proxy sees that account as the caller,
/// which is what every buyer's witness names. No storage, no owner, no upgrade; it calls nothing but the upto proxy and moves no
/// ether.
contract SettlementBatch {
    /// @dev x402's upto proxy, the same on every chain.
    address private constant UPTO_PROXY = 0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002;

    struct Item {
        /// What this item may use: a payer's own contract may run in it (ERC-1271).
        uint256 gas;
        /// Calldata for the upto proxy.
        bytes call;
    }

    /// Stands behind the logs of each item: whatever the transaction logged since the one before belongs to this item.
    event Tried(uint256 item, bool succeeded);

    error OnlyTheAccountItself();

    /// @notice Tries every item; one that fails changes nothing for the others. Stops where too little gas is left to give an item
    /// what it may use: what has no `Tried` was not tried.
    function settle(Item[] calldata items) external {
        if (msg.sender != address(this)) revert OnlyTheAccountItself();
        for (uint256 index; index < items.length; ++index) {
            uint256 limit = items[index].gas;
            bytes calldata data = items[index].call;
            bool succeeded;
            assembly ("memory-safe") {
                let input := mload(0x40)
                calldatacopy(input, data.offset, data.length)
                // A call gets 63/64 of what is left at most; 10,000 are for the call itself and the event.
                if lt(gas(), add(add(limit, div(limit, 63)), 10000)) { return(0, 0) }
                // Nothing of what it returns is copied: it may be as long as a payer's contract likes.
                succeeded := call(limit, UPTO_PROXY, 0, input, data.length, 0, 0)
            }
            emit Tried(index, succeeded);
        }
    }

    /// @dev A delegated account is still topped up by plain transfers.
    receive() external payable {}
}
