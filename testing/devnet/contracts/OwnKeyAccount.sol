// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What an ordinary account can be delegated to (EIP-7702): it agrees, by ERC-1271, to what its own key has signed
contract OwnKeyAccount {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer =
            ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer == address(this) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }

    receive() external payable {}
}
