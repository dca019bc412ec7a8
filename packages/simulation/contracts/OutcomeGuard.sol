// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

interface IToken {
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
}

/// @title Holds an account to what a preview of its calls showed
/// @dev The account itself calls `open` before its other calls and `close` after them, in one transaction: by EIP-7702 or in a smart account's
/// batch. What `close` refuses reverts the whole batch. Nothing outlives the transaction: no storage, no owner, no ether, and no account can
/// speak for another.
contract OutcomeGuard {
    /// What is watched of the account that calls. `token` zero: the native currency. `spender` zero: the balance, else what it may spend.
    struct Watched {
        address token;
        address spender;
    }

    /// The balance may not end below what it was by more than `-least`; where `least` is positive, it has to be more by so much. What a spender
    /// may spend may not end above both what it was and `least`.
    struct Bound {
        address token;
        address spender;
        int256 least;
    }

    error NotOpened(address token, address spender);
    error BalanceBelow(address token, int256 least, int256 change);
    error AllowanceAbove(address token, address spender, uint256 most, uint256 found);

    /// @notice Notes what there is before the account's calls.
    function open(Watched[] calldata watched) external {
        for (uint256 i = 0; i < watched.length; i++) {
            (address token, address spender) = (watched[i].token, watched[i].spender);
            uint256 found = held(token, spender);
            bytes32 place = placeOf(token, spender);
            assembly ("memory-safe") {
                tstore(place, found)
                tstore(add(place, 1), 1)
            }
        }
    }

    /// @notice Reverts where a bound does not hold. Each has to have been opened, and is closed then.
    function close(Bound[] calldata bounds) external {
        for (uint256 i = 0; i < bounds.length; i++) {
            (address token, address spender, int256 least) = (bounds[i].token, bounds[i].spender, bounds[i].least);
            bytes32 place = placeOf(token, spender);
            uint256 before;
            bool isOpen;
            assembly ("memory-safe") {
                before := tload(place)
                isOpen := tload(add(place, 1))
                tstore(add(place, 1), 0)
            }
            if (!isOpen) revert NotOpened(token, spender);
            uint256 found = held(token, spender);
            if (spender == address(0)) {
                int256 change = differenceOf(found, before);
                if (change < least) revert BalanceBelow(token, least, change);
            } else {
                uint256 most = least > 0 && uint256(least) > before ? uint256(least) : before;
                if (found > most) revert AllowanceAbove(token, spender, most, found);
            }
        }
    }

    function held(address token, address spender) private view returns (uint256) {
        if (token == address(0)) return msg.sender.balance;
        return spender == address(0) ? IToken(token).balanceOf(msg.sender) : IToken(token).allowance(msg.sender, spender);
    }

    function placeOf(address token, address spender) private view returns (bytes32) {
        return keccak256(abi.encode(msg.sender, token, spender));
    }

    /// The difference as far as an int256 holds it.
    function differenceOf(uint256 found, uint256 before) private pure returns (int256) {
        uint256 most = uint256(type(int256).max);
        unchecked {
            if (found >= before) return found - before > most ? type(int256).max : int256(found - before);
            return before - found > most ? type(int256).min : -int256(before - found);
        }
    }
}
