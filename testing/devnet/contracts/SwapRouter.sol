// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

interface IERC20 {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface IUniswapV2Pair {
    function token0() external view returns (address);
    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 timestamp);
    function mint(address to) external returns (uint256 liquidity);
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

interface IUniswapV3Pool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
    function swap(address recipient, bool zeroForOne, int256 amountSpecified, uint160 sqrtPriceLimitX96, bytes calldata data)
        external
        returns (int256 amount0, int256 amount1);
}

/// @title The smallest router for Uniswap v2 pairs and v3 pools: for local chains only
/// @dev The pools are given by the caller and trusted: real routers derive them from their factory.
contract SwapRouter {
    error TooLittleReceived(uint256 amountOut, uint256 amountOutMinimum);

    uint160 private constant MIN_SQRT_RATIO = 4295128739;
    uint160 private constant MAX_SQRT_RATIO = 1461446703485210103287273052203988822378723970342;

    /// @notice Sells exactly `amountIn` of `tokenIn` to a v2 pair, which keeps 0.3%.
    function swapV2(IUniswapV2Pair pair, address tokenIn, uint256 amountIn, uint256 amountOutMinimum, address recipient)
        external
        returns (uint256 amountOut)
    {
        bool zeroForOne = pair.token0() == tokenIn;
        (uint256 reserveIn, uint256 reserveOut,) = pair.getReserves();
        if (!zeroForOne) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        IERC20(tokenIn).transferFrom(msg.sender, address(pair), amountIn);
        uint256 amountInAfterFee = amountIn * 997;
        amountOut = (amountInAfterFee * reserveOut) / (reserveIn * 1000 + amountInAfterFee);
        if (amountOut < amountOutMinimum) revert TooLittleReceived(amountOut, amountOutMinimum);
        (uint256 amount0Out, uint256 amount1Out) = zeroForOne ? (uint256(0), amountOut) : (amountOut, uint256(0));
        pair.swap(amount0Out, amount1Out, recipient, "");
    }

    /// @notice Sells exactly `amountIn` of `tokenIn` to a v3 pool.
    function swapV3(IUniswapV3Pool pool, address tokenIn, uint256 amountIn, uint256 amountOutMinimum, address recipient)
        external
        returns (uint256 amountOut)
    {
        bool zeroForOne = pool.token0() == tokenIn;
        (int256 amount0, int256 amount1) = pool.swap(
            recipient,
            zeroForOne,
            int256(amountIn),
            zeroForOne ? MIN_SQRT_RATIO + 1 : MAX_SQRT_RATIO - 1,
            abi.encode(tokenIn, msg.sender)
        );
        amountOut = uint256(-(zeroForOne ? amount1 : amount0));
        if (amountOut < amountOutMinimum) revert TooLittleReceived(amountOut, amountOutMinimum);
    }

    /// @notice Adds `liquidity` to a v3 pool between two ticks.
    function mintV3(IUniswapV3Pool pool, int24 tickLower, int24 tickUpper, uint128 liquidity, address recipient) external {
        pool.mint(recipient, tickLower, tickUpper, liquidity, abi.encode(address(0), msg.sender));
    }

    function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes calldata data) external {
        (address tokenIn, address payer) = abi.decode(data, (address, address));
        IERC20(tokenIn).transferFrom(payer, msg.sender, uint256(amount0Delta > 0 ? amount0Delta : amount1Delta));
    }

    function uniswapV3MintCallback(uint256 amount0Owed, uint256 amount1Owed, bytes calldata data) external {
        (, address payer) = abi.decode(data, (address, address));
        IUniswapV3Pool pool = IUniswapV3Pool(msg.sender);
        if (amount0Owed > 0) IERC20(pool.token0()).transferFrom(payer, msg.sender, amount0Owed);
        if (amount1Owed > 0) IERC20(pool.token1()).transferFrom(payer, msg.sender, amount1Owed);
    }
}
