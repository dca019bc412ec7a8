// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What an ordinary account can be delegated to (EIP-7702): it carries out the calls of a batch, all or none. For tests
contract BatchAccount {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    error OnlyTheAccountItself();

    function execute(Call[] calldata calls) external payable {
        if (msg.sender != address(this)) revert OnlyTheAccountItself();
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, bytes memory returned) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (done) continue;
            assembly ("memory-safe") {
                revert(add(returned, 32), mload(returned))
            }
        }
    }

    receive() external payable {}
}
