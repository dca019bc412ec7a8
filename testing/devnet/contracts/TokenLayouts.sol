// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Views of a token that keeps its amounts in one of many ways, told by the slot MODE. For tests: each mode is the layout of a compiler or
/// a library, or a token that can't be set, or one that lies.
contract TokenLayouts {
    uint256 private constant MODE = 0xffff0001;
    /// What all accounts share: an index, a cap, a total.
    uint256 private constant SHARED = 0xffff0002;
    uint256 private constant TOTAL = 0xffff0003;
    /// The contract that keeps the amounts of mode 30.
    uint256 private constant STORE = 0xffff0004;
    bytes32 private constant ERC7201 = 0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00;

    function balanceOf(address owner) external view returns (uint256) {
        return amountOf(uint256(uint160(owner)));
    }

    function allowance(address owner, address spender) external view returns (uint256) {
        return amountOf(uint256(uint160(uint256(keccak256(abi.encode(owner, spender))))));
    }

    /// A store for others.
    function kept(uint256 key) external view returns (uint256) {
        return load(solidity(key, 7));
    }

    function amountOf(uint256 key) private view returns (uint256) {
        uint256 mode = load(MODE);
        uint256 value = load(solidity(key, 0));
        // Layouts of single slots.
        if (mode == 0) return value;
        if (mode == 1) return load(solidity(key, 51));
        if (mode == 2) return load(solidity(key, uint256(ERC7201)));
        if (mode == 3) return load(uint256(keccak256(abi.encode(uint256(3), key))));
        if (mode == 4) return load(solady(key));
        if (mode == 5) return load(key);
        if (mode == 6) return load(solidity(key, solidity(9, 2)));
        // Fields of packed slots.
        if (mode == 7) return value & type(uint128).max;
        if (mode == 8) return value >> 128;
        if (mode == 9) return value >> 160;
        if (mode == 10) return value & ((1 << 255) - 1);
        if (mode == 11) return value >> 1;
        if (mode == 12) return (value >> 40) & type(uint112).max;
        if (mode == 13) return (value >> 64) & type(uint64).max;
        if (mode == 14) {
            uint256 count = load(solidity(key, 4));
            return count == 0 ? 0 : load(solidity(key, 5) + count - 1) >> 32;
        }
        // What a view makes of what it reads.
        if (mode == 16) return (value * load(SHARED)) / 1000;
        if (mode == 17) return (value * load(SHARED)) / load(TOTAL);
        if (mode == 18) return value / load(SHARED);
        if (mode == 19) return ((value & type(uint128).max) * load(SHARED) + 5e26) / 1e27;
        if (mode == 20) {
            require(value < 1 << 128, "too much");
            return value;
        }
        if (mode == 21) {
            require(load(solidity(key, 6)) == 0, "blocked");
            return value;
        }
        if (mode == 24) return value < load(SHARED) ? value : load(SHARED);
        if (mode == 30) return TokenLayouts(address(uint160(load(STORE)))).kept(key);
        if (mode == 35) return value * 1e12;
        if (mode == 36) {
            uint256 since = value >> 128;
            return ((value & type(uint128).max) * (1e18 + (block.timestamp - since) * 1e3)) / 1e18;
        }
        if (mode == 37) return load(solidity(key, 8)) != 0 ? load(solidity(key, 9)) : value / load(SHARED);
        if (mode == 39) return load(solidity(0, 10) + load(solidity(key, 11)));
        // What can't be set, or lies.
        if (mode == 22) return 7;
        if (mode == 23) return load(SHARED);
        if (mode == 25) return value + load(solidity(key, 12));
        if (mode == 28) return uint256(keccak256(abi.encode(value)));
        if (mode == 29) return value == 0 ? 0 : 7;
        if (mode == 34) return value ^ 0xff;
        if (mode == 40) return value == 0 ? 0 : value - 1;
        if (mode == 41) return value > 1000 ? 1000 : value;
        if (mode == 42) return load(solidity(key, 13)) != 0 ? load(SHARED) : 0;
        revert("no");
    }

    function solidity(uint256 key, uint256 base) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(key, base)));
    }

    function solady(uint256 key) private pure returns (uint256 slot) {
        assembly {
            mstore(0x0c, 0x87a211a2)
            mstore(0x00, key)
            slot := keccak256(0x0c, 0x20)
        }
    }

    function load(uint256 slot) private view returns (uint256 value) {
        assembly {
            value := sload(slot)
        }
    }
}
