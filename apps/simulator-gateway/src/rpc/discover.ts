/** What each method is for, in a line. One that is passed on and not named here is described by its name alone. */
const SUMMARIES: Record<string, string> = {
  eth_blockNumber: 'The newest block number',
  eth_chainId: 'The chain id',
  eth_simulateV1: 'Simulates calls in one or more blocks on top of a given block, without changing the chain',
  'rpc.discover': 'This document',
  web3_clientVersion: 'Version of the gateway and of the EVM inside it',
}

const hex = { type: 'string', pattern: '^0x[0-9a-f]*$' }
const quantity = { type: 'string', pattern: '^0x(0|[1-9a-f][0-9a-f]*)$' }
const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }
const hash = { type: 'string', pattern: '^0x[0-9a-f]{64}$' }

const call = {
  type: 'object',
  description: "execution-apis' GenericTransaction, types 0 to 4",
  properties: {
    from: address,
    to: address,
    gas: quantity,
    value: quantity,
    nonce: quantity,
    input: hex,
    data: hex,
    gasPrice: quantity,
    maxFeePerGas: quantity,
    maxPriorityFeePerGas: quantity,
    maxFeePerBlobGas: quantity,
    accessList: { type: 'array', items: { type: 'object' } },
    blobVersionedHashes: { type: 'array', items: hash },
    authorizationList: { type: 'array', items: { type: 'object' } },
    chainId: quantity,
    type: quantity,
  },
}

const accountOverride = {
  type: 'object',
  properties: {
    balance: quantity,
    nonce: quantity,
    code: hex,
    state: { type: 'object', description: 'Replaces the whole storage' },
    stateDiff: { type: 'object', description: 'Replaces single slots' },
    storage: { type: 'object', description: 'The same as stateDiff' },
    movePrecompileToAddress: address,
  },
}

const blockOverrides = {
  type: 'object',
  properties: {
    number: quantity,
    time: quantity,
    timestamp: { ...quantity, description: 'The same as time' },
    gasLimit: quantity,
    feeRecipient: address,
    prevRandao: hash,
    baseFeePerGas: quantity,
    blobBaseFee: quantity,
    beaconRoot: hash,
    withdrawals: { type: 'array', items: { type: 'object' } },
  },
}

const simulate = {
  params: [
    {
      name: 'payload',
      required: true,
      schema: {
        type: 'object',
        required: ['blockStateCalls'],
        properties: {
          blockStateCalls: {
            type: 'array',
            minItems: 1,
            maxItems: 256,
            items: {
              type: 'object',
              properties: {
                blockOverrides,
                stateOverrides: { type: 'object', additionalProperties: accountOverride },
                calls: { type: 'array', items: call },
              },
            },
          },
          traceTransfers: { type: 'boolean', default: false },
          validation: { type: 'boolean', default: false },
          returnFullTransactions: { type: 'boolean', default: false },
        },
      },
    },
    {
      name: 'block',
      required: true,
      description: 'A tag, a number, a hash, or an EIP-1898 object',
      schema: { oneOf: [{ type: 'string' }, { type: 'object' }] },
    },
  ],
  result: { name: 'blocks', schema: { type: 'array', items: { type: 'object' } } },
}

/** The OpenRPC document of the methods served: https://spec.open-rpc.org */
export function describeMethods(names: Iterable<string>, version: string): object {
  const methods = [...names].sort().map((name) => ({
    name,
    summary: SUMMARIES[name] ?? `${name}, as the upstream node answers it`,
    paramStructure: 'by-position',
    ...(name === 'eth_simulateV1' ? simulate : { params: [], result: { name: 'result', schema: {} } }),
  }))
  return {
    openrpc: '1.3.2',
    info: { title: 'Upfront', version, license: { name: 'Apache-2.0' } },
    methods,
  }
}
