import type { Address, Hash, Hex, SimulatedLog } from '@upfront/protocol'
import { encodeAbiParameters, keccak256, toHex } from 'viem'
import { assetChanges } from './asset-changes.js'

const address = (byte: string): Address => `0x${byte.repeat(20)}`
const [alice, bob, token, nobody] = [address('a1'), address('b0'), address('70'), address('00')]
const native: Address = address('ee')
const event = (signature: string) => keccak256(toHex(signature))
const word = (value: bigint | Address): Hash => `0x${BigInt(value).toString(16).padStart(64, '0')}`
const log = (emitter: Address, topics: Hash[], data: Hex) => ({ address: emitter, topics, data }) as SimulatedLog
const transfer = (emitter: Address, from: Address, to: Address, amount: bigint) =>
  log(emitter, [event('Transfer(address,address,uint256)'), word(from), word(to)], word(amount))

it('sums transfers by address and asset, in both directions', () => {
  const logs = [transfer(native, alice, bob, 5n), transfer(token, bob, alice, 100n), transfer(token, alice, bob, 30n)]
  expect(assetChanges(logs)).toEqual([
    { address: alice, type: 'native', amount: '-5' },
    { address: bob, type: 'native', amount: '5' },
    { address: bob, type: 'erc20', token, amount: '-70' },
    { address: alice, type: 'erc20', token, amount: '70' },
  ])
})

it('omits changes that sum to zero, and the zero address of a mint', () => {
  const logs = [transfer(token, alice, bob, 1n), transfer(token, bob, alice, 1n), transfer(token, nobody, bob, 9n)]
  expect(assetChanges(logs)).toEqual([{ address: bob, type: 'erc20', token, amount: '9' }])
})

it('recognizes ERC-721 by its indexed token ID', () => {
  const moved = log(token, [event('Transfer(address,address,uint256)'), word(alice), word(bob), word(42n)], '0x')
  expect(assetChanges([moved])).toEqual([
    { address: alice, type: 'erc721', token, tokenId: '42', amount: '-1' },
    { address: bob, type: 'erc721', token, tokenId: '42', amount: '1' },
  ])
})

it('reads both events of ERC-1155', () => {
  const parties = [word(alice), word(alice), word(bob)] as const
  const single = log(
    token,
    [event('TransferSingle(address,address,address,uint256,uint256)'), ...parties],
    encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [7n, 3n]),
  )
  const batch = log(
    token,
    [event('TransferBatch(address,address,address,uint256[],uint256[])'), ...parties],
    encodeAbiParameters(
      [{ type: 'uint256[]' }, { type: 'uint256[]' }],
      [
        [7n, 8n],
        [1n, 2n],
      ],
    ),
  )
  expect(assetChanges([single, batch])).toEqual([
    { address: alice, type: 'erc1155', token, tokenId: '7', amount: '-4' },
    { address: bob, type: 'erc1155', token, tokenId: '7', amount: '4' },
    { address: alice, type: 'erc1155', token, tokenId: '8', amount: '-2' },
    { address: bob, type: 'erc1155', token, tokenId: '8', amount: '2' },
  ])
})

it('ignores malformed transfer logs and other events', () => {
  const name = event('TransferBatch(address,address,address,uint256[],uint256[])')
  expect(
    assetChanges([
      log(token, [], '0x'),
      log(token, [event('Transfer(address,address,uint256)'), word(alice), word(bob)], '0x'),
      log(token, [name, word(alice), word(alice), word(bob)], '0x1234'),
      log(token, [event('Approval(address,address,uint256)'), word(alice), word(bob)], word(1n)),
    ]),
  ).toEqual([])
})

it("counts a wrapped token's deposit and withdrawal, but only once if it also logs a transfer", () => {
  const deposit = log(token, [event('Deposit(address,uint256)'), word(alice)], word(3n))
  const withdrawal = log(token, [event('Withdrawal(address,uint256)'), word(bob)], word(2n))
  expect(assetChanges([deposit, withdrawal, transfer(token, nobody, alice, 3n)])).toEqual([
    { address: alice, type: 'erc20', token, amount: '3' },
    { address: bob, type: 'erc20', token, amount: '-2' },
  ])
})
