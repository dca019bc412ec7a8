import { ErrorCode } from '../rpc-error.js'
import type { OpenRpcMethod } from './openrpc-method.js'
import { OTHER_SERVICES } from './other-services.js'
import { type JsonSchema, SCHEMAS } from './schemas.js'
import { TRACING } from './tracing-methods.js'

/** https://spec.open-rpc.org, the fields that are used here. */
export interface OpenRpcDocument {
  openrpc: '1.3.2'
  info: { title: string; version: string; description: string; license: { name: string } }
  /** Relative to where this document was asked for. */
  servers: { name: string; url: string; description: string }[]
  methods: OpenRpcMethod[]
  components: { schemas: Record<string, JsonSchema> }
}

export interface OpenRpcOptions {
  version: string
  /** Names of the methods that go to the upstream node as they are. */
  passedUpstream: readonly string[]
}

const SERVERS = [
  {
    name: 'description',
    url: '/',
    description: 'A failed call has an `error` that is a string, unless the query says `dialect=ethereum`',
  },
  {
    name: 'ethereum',
    url: '/ethereum',
    description: `All in geth's shapes, a failed call's \`error\` an object: for clients that decode answers by type.
viem: createPublicClient({ transport: http(url + '/ethereum') })
ethers: new JsonRpcProvider(url + '/ethereum')
alloy: ProviderBuilder::new().connect_http(format!("{url}/ethereum").parse()?)
go-ethereum: ethclient.Dial(url + "/ethereum")
web3.py: Web3(Web3.HTTPProvider(url + "/ethereum"))`,
  },
]

const EXECUTION_APIS = {
  url: 'https://ethereum.github.io/execution-apis/',
  description: 'Ethereum JSON-RPC',
}

const quantity = (name: string): OpenRpcMethod['result'] => ({
  name,
  schema: { $ref: '#/components/schemas/Quantity' },
})

const SIMULATE: OpenRpcMethod = {
  name: 'eth_simulateV1',
  summary: 'Simulates blocks of calls on the state of a block, the pre-confirmed one included. Commits nothing.',
  paramStructure: 'by-position',
  params: [
    { name: 'payload', required: true, schema: { $ref: '#/components/schemas/SimulationPayload' } },
    { name: 'block', required: false, schema: { $ref: '#/components/schemas/StateParameter' } },
  ],
  result: {
    name: 'blocks',
    schema: { type: 'array', items: { $ref: '#/components/schemas/SimulatedBlock' } },
  },
  errors: [
    { code: ErrorCode.invalidParams, message: 'A field is missing, malformed or unknown; the message names its place' },
    { code: ErrorCode.serverError, message: 'The block is unknown, or a call is no transaction' },
    { code: ErrorCode.limitExceeded, message: 'A limit of this server: time, upstream reads, batch length' },
    { code: ErrorCode.nonceTooLow, message: 'Nonce too low' },
    { code: ErrorCode.nonceTooHigh, message: 'Nonce too high' },
    { code: ErrorCode.baseFeeTooLow, message: 'Max fee per gas below the base fee' },
    { code: ErrorCode.intrinsicGas, message: 'Gas limit below the intrinsic gas' },
    { code: ErrorCode.insufficientFunds, message: 'Balance below gas cost and value' },
    { code: ErrorCode.blockGasLimitReached, message: 'Gas limit of the call above what the block has left' },
    { code: ErrorCode.blockNumberInvalid, message: 'Block numbers do not rise' },
    { code: ErrorCode.blockTimestampInvalid, message: 'Block times do not rise' },
    { code: ErrorCode.movePrecompileSelfReference, message: 'A precompile is moved onto itself' },
    { code: ErrorCode.movePrecompileDuplicate, message: 'Two precompiles are moved to one address' },
    { code: ErrorCode.senderNotEoa, message: 'The sender has code' },
    { code: ErrorCode.initCodeTooLarge, message: 'Init code above the limit' },
    { code: ErrorCode.clientLimitExceeded, message: 'Too many blocks or calls' },
  ],
  examples: [
    {
      name: 'A transfer of 1 wei on the pre-confirmed state',
      params: [
        {
          name: 'payload',
          value: {
            blockStateCalls: [
              {
                stateOverrides: { '0xc000000000000000000000000000000000000000': { balance: '0x1' } },
                calls: [
                  {
                    from: '0xc000000000000000000000000000000000000000',
                    to: '0xc100000000000000000000000000000000000000',
                    value: '0x1',
                  },
                ],
              },
            ],
            traceTransfers: true,
          },
        },
        { name: 'block', value: 'pending' },
      ],
      result: { name: 'blocks', value: [{ calls: [{ status: '0x1', gasUsed: '0x5208', returnData: '0x' }] }] },
    },
  ],
  externalDocs: EXECUTION_APIS,
}

const OWN: OpenRpcMethod[] = [
  SIMULATE,
  ...TRACING,
  ...OTHER_SERVICES,
  {
    name: 'eth_chainId',
    summary: 'The chain id',
    paramStructure: 'by-position',
    params: [],
    result: quantity('chainId'),
  },
  {
    name: 'eth_blockNumber',
    summary: 'The number of the newest block',
    paramStructure: 'by-position',
    params: [],
    result: quantity('number'),
  },
  {
    name: 'net_listening',
    summary: 'Whether this server takes requests: always',
    paramStructure: 'by-position',
    params: [],
    result: { name: 'listening', schema: { type: 'boolean' } },
  },
  {
    name: 'web3_clientVersion',
    summary: 'This server and its EVM',
    paramStructure: 'by-position',
    params: [],
    result: { name: 'version', schema: { type: 'string' } },
  },
  {
    name: 'rpc.discover',
    summary: 'This document',
    paramStructure: 'by-position',
    params: [],
    result: { name: 'document', schema: { type: 'object' } },
  },
]

/** What `rpc.discover` answers: every method that is served. */
export function openRpcDocument({ version, passedUpstream }: OpenRpcOptions): OpenRpcDocument {
  const own = new Set(OWN.map(({ name }) => name))
  const passed = passedUpstream.filter((name) => !own.has(name)).map(passedMethod)
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Upfront',
      version,
      description: 'Simulation of transactions on pre-confirmed state',
      license: { name: 'Apache-2.0' },
    },
    servers: SERVERS,
    methods: [...OWN, ...passed],
    components: { schemas: SCHEMAS },
  }
}

/** Params and result are the node's own. */
function passedMethod(name: string): OpenRpcMethod {
  return {
    name,
    summary: 'Answered by the upstream node',
    paramStructure: 'by-position',
    params: [],
    result: { name: 'result', schema: {} },
    externalDocs: EXECUTION_APIS,
  }
}
