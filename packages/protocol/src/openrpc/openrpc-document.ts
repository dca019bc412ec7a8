import { ErrorCode } from '../rpc-error.js'
import { FOLLOWING } from './following-methods.js'
import { method, type OpenRpcMethod, required, STATE } from './openrpc-method.js'
import { OTHER_SERVICES } from './other-services.js'
import { type JsonSchema, list, ref, SCHEMAS } from './schemas.js'
import { TRACING } from './tracing-methods.js'

/** The fields of https://spec.open-rpc.org used here. */
export interface OpenRpcDocument {
  openrpc: '1.3.2'
  info: { title: string; version: string; description: string; license: { name: string } }
  /** Relative to the URL of this document. */
  servers: { name: string; url: string; description: string }[]
  methods: OpenRpcMethod[]
  components: { schemas: Record<string, JsonSchema> }
}

export interface OpenRpcOptions {
  version: string
  /** Names of the methods that are served. Those that are not described here are geth's. */
  served: Iterable<string>
}

const SERVERS = [
  {
    name: 'description',
    url: '/',
    description: 'The `error` of a failed call is a string, unless the URL has `dialect=ethereum`',
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

const SIMULATE_FURTHER: Pick<OpenRpcMethod, 'errors' | 'examples' | 'externalDocs'> = {
  errors: [
    { code: ErrorCode.invalidParams, message: 'A field is missing, malformed or unknown; the message names its place' },
    { code: ErrorCode.serverError, message: 'The block is unknown, or a call is not a valid transaction' },
    { code: ErrorCode.limitExceeded, message: 'A limit of this server: time, upstream reads, batch length' },
    { code: ErrorCode.nonceTooLow, message: 'Nonce too low' },
    { code: ErrorCode.nonceTooHigh, message: 'Nonce too high' },
    { code: ErrorCode.baseFeeTooLow, message: 'Max fee per gas below the base fee' },
    { code: ErrorCode.intrinsicGas, message: 'Gas limit below the intrinsic gas' },
    { code: ErrorCode.insufficientFunds, message: 'Balance below gas cost and value' },
    { code: ErrorCode.blockGasLimitReached, message: 'Gas limit of the call above the gas left in the block' },
    { code: ErrorCode.blockNumberInvalid, message: 'Block numbers do not increase' },
    { code: ErrorCode.blockTimestampInvalid, message: 'Block times do not increase' },
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
  method(
    'eth_simulateV1',
    'Simulates blocks of calls on the state of a block, which may be the pre-confirmed one. Commits nothing.',
    [required('payload', ref('SimulationPayload')), STATE],
    ['blocks', list('SimulatedBlock')],
    SIMULATE_FURTHER,
  ),
  ...TRACING,
  ...FOLLOWING,
  ...OTHER_SERVICES,
  method('eth_chainId', 'The chain id', [], ['chainId', ref('Quantity')]),
  method('eth_blockNumber', 'The number of the newest block', [], ['number', ref('Quantity')]),
  method('net_listening', 'Whether this server accepts requests: always true', [], ['listening', { type: 'boolean' }]),
  method('web3_clientVersion', 'This server and its EVM', [], ['version', { type: 'string' }]),
  method('rpc.discover', 'This document', [], ['document', { type: 'object' }]),
]

/** The result of `rpc.discover`. */
export function openRpcDocument({ version, served }: OpenRpcOptions): OpenRpcDocument {
  const names = new Set(served)
  const own = OWN.filter(({ name }) => names.delete(name))
  // Params and result are those of the node.
  const summary = 'As on the upstream node, answered here or there'
  const others = [...names].map((name) => method(name, summary, [], ['result', {}], { externalDocs: EXECUTION_APIS }))
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Upfront',
      version,
      description: 'Simulation of transactions on pre-confirmed state',
      license: { name: 'Apache-2.0' },
    },
    servers: SERVERS,
    methods: [...own, ...others],
    components: { schemas: SCHEMAS },
  }
}
