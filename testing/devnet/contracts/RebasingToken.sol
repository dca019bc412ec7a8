// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A token whose balances are shares times an index that grows by itself. For tests.
contract RebasingToken {
    string public constant name = "Rebasing";
    string public constant version = "1";
    uint8 public constant decimals = 6;
    mapping(address => uint256) private shares;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    /// In thousandths.
    function index() public view returns (uint256) {
        return 1001 + block.number;
    }

    function balanceOf(address account) external view returns (uint256) {
        return (shares[account] * index()) / 1000;
    }

    function mint(address to, uint256 value) external {
        shares[to] += (value * 1000) / index();
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 moved = (value * 1000) / index();
        shares[msg.sender] -= moved;
        shares[to] += moved;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}
