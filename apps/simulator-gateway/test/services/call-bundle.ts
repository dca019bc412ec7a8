import { FlashbotsBundleProvider } from '@flashbots/ethers-provider-bundle'
import { startDevnet } from '@upfront/devnet'
import { JsonRpcProvider, Wallet } from 'ethers'
import { concat, type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startGatewayProcess } from '../gateway-process.js'
import { chainId, FRIEND, OWNER, refusal } from './stand.js'

describe('eth_callBundle', () => {
  const account = privateKeyToAccount(`0x${'51'.repeat(32)}`)

  it('rejects a sender without funds and names the transaction', async () => {
    const raw = await account.signTransaction({
      chainId,
      type: 'eip1559',
      nonce: 0,
      gas: 21_000n,
      to: OWNER,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
    })
    expect(
      await refusal('eth_callBundle', { txs: [raw], blockNumber: '0x1', stateBlockNumber: 'latest' }),
    ).toMatchObject({
      code: -38014,
      message: expect.stringContaining('params[0].txs[0]: '),
    })
  })

  it.each([
    [{ txs: ['0x1234'] }, 'params[0].txs[0]: expected a signed transaction'],
    [{ txs: [{}] }, 'params[0].txs[0]: expected a signed transaction in hex'],
    [{ txs: [], difficulty: 1 }, 'params[0].difficulty: is not supported'],
    [{ txs: ['0x'], blockNumber: 'x' }, 'params[0].blockNumber'],
  ])('rejects %j and names the field', async (bundle, problem) => {
    expect(await refusal('eth_callBundle', bundle)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })

  it('returns what a bundle pays to the fee recipient', async () => {
    const devnet = await startDevnet({ payments: false })
    const onDevnet = await startGatewayProcess({ UPSTREAM_RPC_URL: devnet.rpcUrl })
    try {
      const { buyer } = devnet.accounts
      const sender = privateKeyToAccount(buyer.privateKey)
      const coinbase = `0xc0${'0'.repeat(37)}1` as const
      const head = BigInt(((await onDevnet.call('eth_blockNumber', [])) as { result: Hex }).result)
      const sign = (nonce: number, to: Hex, value: bigint) =>
        sender.signTransaction({
          chainId: 31337,
          type: 'eip1559',
          nonce,
          gas: 50_000n,
          to,
          value,
          maxFeePerGas: 10n ** 11n,
          maxPriorityFeePerGas: 7n,
        })
      const txs = [await sign(0, FRIEND, 1n), await sign(1, coinbase, 1_000_000n)]
      const params = [{ txs, blockNumber: `0x${(head + 1n).toString(16)}`, stateBlockNumber: 'latest', coinbase }]
      const { result, error } = await onDevnet.call('eth_callBundle', params)
      expect(error).toBeUndefined()
      // Flashbots' own client, unmodified, with our URL.
      const provider = new JsonRpcProvider(onDevnet.url)
      const relay = await FlashbotsBundleProvider.create(
        provider as never,
        Wallet.createRandom() as never,
        onDevnet.url,
        31337,
      )
      const simulated = await relay.simulate(txs, Number(head + 1n), 'latest', undefined, coinbase)
      provider.destroy()
      expect(simulated).toMatchObject({ bundleHash: (result as { bundleHash: Hex }).bundleHash, totalGasUsed: 42_000 })
      expect((simulated as { firstRevert?: unknown }).firstRevert).toBeUndefined()
      const tip = 21_000n * 7n
      const shared = { gasUsed: 21_000, gasFees: `${tip}`, fromAddress: sender.address.toLowerCase(), value: '0x' }
      expect(result).toEqual({
        bundleGasPrice: `${(2n * tip + 1_000_000n) / 42_000n}`,
        bundleHash: keccak256(concat(txs.map((raw) => keccak256(raw)))),
        coinbaseDiff: `${2n * tip + 1_000_000n}`,
        ethSentToCoinbase: '1000000',
        gasFees: `${2n * tip}`,
        results: [
          {
            ...shared,
            txHash: keccak256(txs[0]!),
            toAddress: FRIEND,
            gasPrice: '7',
            coinbaseDiff: `${tip}`,
            ethSentToCoinbase: '0',
          },
          {
            ...{
              ...shared,
              txHash: keccak256(txs[1]!),
              toAddress: coinbase,
              gasPrice: `${(tip + 1_000_000n) / 21_000n}`,
            },
            ...{ coinbaseDiff: `${tip + 1_000_000n}`, ethSentToCoinbase: '1000000' },
          },
        ],
        stateBlockNumber: Number(head),
        totalGasUsed: 42_000,
      })
    } finally {
      await onDevnet.stop()
      await devnet.stop()
    }
  })
})
