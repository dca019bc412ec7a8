import { toEventSelector, toFunctionSelector } from 'viem'
import { type KnownSignature, knownSignatures } from './index.js'

const selectorOf = (entry: KnownSignature) =>
  entry.type === 'event' ? toEventSelector(entry as never) : toFunctionSelector({ ...entry, type: 'function' } as never)

it('contains the signatures of common standards', () => {
  const names = new Set(knownSignatures().map(({ from, type, name }) => `${from} ${type} ${name}`))
  for (const name of [
    'ERC-20 function transfer',
    'ERC-20 event Approval',
    'ERC-721 function ownerOf',
    'ERC-1155 event TransferSingle',
    'ERC-4626 function convertToShares',
    'ERC-6093 error ERC721NonexistentToken',
    'Permit2 function permitTransferFrom',
    'WETH event Withdrawal',
    'Multicall3 function tryAggregate',
    'Uniswap V2 router function addLiquidityETH',
    'Uniswap V3 periphery function exactInput',
    'Uniswap UniversalRouter error V3TooLittleReceived',
    'Safe function execTransaction',
    'ERC-4337 v0.8 function handleOps',
    'OpenZeppelin error AccessManagedUnauthorized',
    'OpenZeppelin error GovernorNonexistentProposal',
  ])
    expect([name, names.has(name)]).toEqual([name, true])
})

it('every signature has a selector, and is listed once', () => {
  const seen = new Set<string>()
  for (const entry of knownSignatures()) {
    const key = `${entry.type} ${selectorOf(entry)} ${JSON.stringify(entry.inputs)}`
    expect([key, seen.has(key)]).toEqual([key, false])
    seen.add(key)
  }
})
