// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A token that keeps one part in a thousand of every transfer. For tests.
contract FeeToken {
    string public constant name = "Fee";
    string public constant version = "1";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 fee = value / 1000;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        balanceOf[address(this)] += fee;
        emit Transfer(msg.sender, to, value - fee);
        emit Transfer(msg.sender, address(this), fee);
        return true;
    }
}
