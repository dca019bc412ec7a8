// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Lends one token against another, with interest by the second, as lending markets do. For tests.
contract LendingPool {
    uint256 private constant ONE = 1e18;
    /// A year's interest of 5%, by the second.
    uint256 private constant RATE = 1_585_489_599;
    Token public immutable collateral;
    Token public immutable lent;
    uint256 public index = ONE;
    uint256 public accruedAt = block.timestamp;
    mapping(address => uint256) public deposited;
    mapping(address => uint256) private scaledDebt;

    event Borrow(address indexed account, uint256 value);
    event Repay(address indexed account, uint256 value);

    constructor(Token collateral_, Token lent_) {
        collateral = collateral_;
        lent = lent_;
    }

    modifier accrued() {
        if (accruedAt != block.timestamp) {
            index += (index * RATE * (block.timestamp - accruedAt)) / ONE;
            accruedAt = block.timestamp;
        }
        _;
    }

    function debtOf(address account) public view returns (uint256) {
        return (scaledDebt[account] * index) / ONE;
    }

    function deposit(uint256 value) external accrued {
        deposited[msg.sender] += value;
        collateral.transferFrom(msg.sender, address(this), value);
    }

    function withdraw(uint256 value) external accrued {
        deposited[msg.sender] -= value;
        requireHealthy(msg.sender);
        collateral.transfer(msg.sender, value);
    }

    function borrow(uint256 value) external accrued {
        scaledDebt[msg.sender] += (value * ONE) / index;
        requireHealthy(msg.sender);
        emit Borrow(msg.sender, value);
        lent.transfer(msg.sender, value);
    }

    function repay(uint256 value) external accrued {
        uint256 debt = debtOf(msg.sender);
        uint256 paid = value < debt ? value : debt;
        scaledDebt[msg.sender] -= (paid * ONE) / index;
        emit Repay(msg.sender, paid);
        lent.transferFrom(msg.sender, address(this), paid);
    }

    function requireHealthy(address account) private view {
        require(debtOf(account) * 4 <= deposited[account] * 3, "too little collateral");
    }
}
