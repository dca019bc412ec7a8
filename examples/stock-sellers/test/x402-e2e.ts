import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { DEVNET_ACCOUNTS, DEVNET_ROLES, PERMIT2_ADDRESS, usdcAbi } from '@upfront/devnet'
import { createTestClient, http, maxUint256, parseEther, publicActions, walletActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { freeUrl, here, portOf, type Stand, startStand } from './stand.js'

/*
 * x402's own `e2e` servers and clients, unchanged, from a checkout in which `e2e/README.md`'s setup was done:
 * X402_CHECKOUT=… npm run test:x402-e2e. Chain, tokens and allowances are what its `test.ts` makes them; no server or client is ours.
 */
const { X402_CHECKOUT: checkout = '' } = process.env
if (checkout === '') throw new Error('X402_CHECKOUT: the folder of a checkout of x402')

interface Endpoint {
  path: string
  method?: string
  protocolFamily?: string
  requiresPayment?: boolean
  transferMethod?: string
  extensions?: string[]
  coldstart?: boolean
  health?: boolean
}
interface Part {
  name: string
  folder: string
  transport: string
  endpoints: Endpoint[]
  transferMethods: string[]
  /** Extensions of x402 that it supports. */
  extensions: string[]
  command: string[]
}

/** `kind`: `servers` or `clients`. */
function parts(kind: string): Part[] {
  const parent = join(checkout, 'e2e', kind)
  return readdirSync(parent)
    .map((name) => join(parent, name))
    .filter((folder) => existsSync(join(folder, 'test.config.json')))
    .map((folder) => {
      const config = JSON.parse(readFileSync(join(folder, 'test.config.json'), 'utf8'))
      const script = readFileSync(join(folder, 'run.sh'), 'utf8')
      // The line that x402's own runner uses: `src/proxy-base.ts`.
      const line = /^(pnpm|npm|node|python|uv run|go run) .*$/m.exec(script)?.[0] ?? ''
      return {
        name: config.name,
        folder,
        transport: config.transport ?? 'http',
        endpoints: config.endpoints ?? [],
        transferMethods: config.evm?.transferMethods ?? ['eip3009'],
        extensions: config.extensions ?? [],
        command: line.trim().split(' '),
      }
    })
}

/** Imports a file that is not in x402's checkout: after a request for it, Next's server answers 500 on every route. */
const BROKEN = '/api/exact/evm/eip3009/withx402'
/** A sponsored `approve` is not served: see "Gas sponsoring" in billing's README. */
const isServed = ({ path, extensions = [] }: Endpoint) =>
  path !== BROKEN && !extensions.includes('erc20ApprovalGasSponsoring')
const isPaid = (endpoint: Endpoint) => endpoint.requiresPayment === true && endpoint.protocolFamily === 'evm'

/** A seller with nestjs-x402 for the suite's clients: `upto`, with and without an approval of Permit2. */
const OWN: Part = {
  name: 'metered-seller, ours',
  folder: here('../metered-seller'),
  transport: 'http',
  transferMethods: [],
  extensions: [],
  command: [process.execPath, 'dist/main.js'],
  endpoints: [
    { path: '/runs', health: true },
    ...[false, true].map((coldstart) => ({
      ...{ path: `/metered?charge=1000&slowMs=${coldstart ? 1 : 0}`, coldstart },
      ...{ requiresPayment: true, protocolFamily: 'evm', transferMethod: 'upto' },
    })),
  ],
}
const servers = [...parts('servers'), OWN]
const clients = parts('clients')
/** Base Sepolia's USDC, which the suite's servers sell for. */
const ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const CHAIN = { chainId: 84532, network: 'eip155:84532' }
/** For the suite's routes on other chains, which are not called here: some address, and the key of the seed 01…01. */
const SOLANA = {
  SVM_NETWORK: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  SVM_PAYEE_ADDRESS: '11111111111111111111111111111112',
  SVM_PRIVATE_KEY: '2AXDGYSE4f2sz7tvMMzyHvUfcoJmxudvdhBcmiUSo6iuCXagjUCKEQF21awZnUGxmwD4m9vGXuC3qieHXJQHAcT',
}
const buyer = DEVNET_ACCOUNTS[7] as (typeof DEVNET_ACCOUNTS)[number]

let stand: Stand
let front: Server
// With the host name that the suite's clients and its Bazaar validator use.
const origins = (await Promise.all(servers.map(freeUrl))).map((url) => url.replace('127.0.0.1', 'localhost'))

const chain = () =>
  createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl), pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions)
const earned = () =>
  chain().readContract({ address: ASSET, abi: usdcAbi, functionName: 'balanceOf', args: [DEVNET_ROLES.seller.address] })

/** As the suite does: approves Permit2 for everything, or for nothing and leaves the buyer without ETH. */
async function prepare(isApproved: boolean): Promise<void> {
  const client = chain()
  await client.setBalance({ address: buyer.address, value: parseEther('1') })
  const hash = await client.writeContract({
    account: privateKeyToAccount(buyer.privateKey),
    chain: null,
    address: ASSET,
    abi: usdcAbi,
    functionName: 'approve',
    args: [PERMIT2_ADDRESS, isApproved ? maxUint256 : 0n],
  })
  await client.waitForTransactionReceipt({ hash })
  if (!isApproved) await client.setBalance({ address: buyer.address, value: 0n })
}

/** Returns what the client prints last (`text-client-protocol.txt`). @throws Error with its whole output if that is no success */
async function buy({ command: [program = '', ...args], folder }: Part, env: Record<string, string>): Promise<unknown> {
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env } })
  let output = ''
  let errors = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (errors += text))
  await new Promise((resolve) => child.once('close', resolve))
  const line = output.split('\n').find((one) => one.trim().startsWith('{')) ?? '{}'
  const result: { success?: boolean } = JSON.parse(line)
  if (result.success !== true) throw new Error(`${output}${errors}`)
  return result
}

/** Some servers of the suite support the extension, but declare it for some of their routes only. */
async function declaresBazaar(url: string): Promise<boolean> {
  const offer = (await fetch(url)).headers.get('payment-required') ?? ''
  const { extensions } = JSON.parse(Buffer.from(offer, 'base64').toString())
  return extensions?.bazaar !== undefined
}

/** Proxies billing and adds Solana to `/supported`: the suite's servers sell there too, and would not start without it. */
async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url } = request
  const body = method === 'POST' ? { body: await text(request) } : {}
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${stand.facilitatorUrl}${url}`, { method, headers, ...body })
  const value = (await answer.json()) as { kinds?: object[] }
  if (url === '/supported') value.kinds?.push({ x402Version: 2, scheme: 'exact', network: SOLANA.SVM_NETWORK })
  response.writeHead(answer.status, headers).end(JSON.stringify(value))
}

describe('x402’s own end-to-end suite', () => {
  beforeAll(async () => {
    stand = await startStand({ origins, chainId: CHAIN.chainId, asset: ASSET })
    const client = chain()
    await client.setBalance({ address: buyer.address, value: parseEther('1') })
    await client.writeContract({
      account: privateKeyToAccount(buyer.privateKey),
      chain: null,
      address: ASSET,
      abi: usdcAbi,
      functionName: 'mint',
      args: [buyer.address, 1_000_000_000n],
    })
    front = createServer((request, response) => void pass(request, response).catch((error) => response.destroy(error)))
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  }, 120_000)
  afterAll(async () => {
    front?.close()
    await stand?.stop()
  })

  describe.each(servers.map((server, at) => ({ ...server, url: origins[at] as string })))(
    'server $name',
    ({ name, command, folder, endpoints, transport, extensions, url }) => {
      let end: () => void
      beforeAll(async () => {
        const health = endpoints.find((endpoint) => endpoint.health)?.path ?? '/health'
        const own = { NETWORK: CHAIN.network, ASSET, PAY_TO: DEVNET_ROLES.seller.address, ...stand.billing }
        const env = {
          ...(folder === OWN.folder ? own : SOLANA),
          PORT: portOf(url),
          EVM_NETWORK: CHAIN.network,
          EVM_RPC_URL: stand.devnet.rpcUrl,
          EVM_PAYEE_ADDRESS: DEVNET_ROLES.seller.address,
          EVM_PERMIT2_ASSET: ASSET,
          FACILITATOR_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
        }
        end = await stand.start(command, env, `${url}${health}`, folder)
      }, 240_000)
      afterAll(() => end?.())

      const sold = endpoints.filter((endpoint) => isPaid(endpoint) && isServed(endpoint))
      const buyers = clients
        .filter((client) => client.transport === transport)
        .map((client) => ({
          client,
          payable: sold.filter(({ transferMethod = 'eip3009' }) => client.transferMethods.includes(transferMethod)),
        }))
        .filter(({ payable }) => payable.length > 0)
      describe.each(buyers)('client $client.name', ({ client, payable }) => {
        const paid: Endpoint[] = []
        it.each(payable)(
          'pays $path',
          async (endpoint) => {
            const { path, transferMethod, coldstart = false } = endpoint
            await prepare(!coldstart)
            const before = await earned()
            const result = await buy(client, {
              ...SOLANA,
              EVM_PRIVATE_KEY: buyer.privateKey,
              EVM_NETWORK: CHAIN.network,
              EVM_RPC_URL: stand.devnet.rpcUrl,
              RESOURCE_SERVER_URL: url,
              ENDPOINT_PATH: path,
            })
            expect(result).toMatchObject({
              status_code: 200,
              payment_response: { success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
            })
            // Every route costs $0.001. With upto at most $0.002, which x402's proxy for Next charges because it sees no answer of a route.
            const prices = transferMethod === 'upto' ? [1_000n, 2_000n] : [1_000n]
            expect(prices).toContain((await earned()) - before)
            paid.push(endpoint)
          },
          120_000,
        )
        const isListing = extensions.includes('bazaar') ? it : it.skip
        isListing(
          'lists every route that declares the Bazaar extension, according to the suite’s own validator',
          async () => {
            const { handleDiscoveryValidation } = await import(join(checkout, 'e2e/extensions/bazaar.ts'))
            const declares = await Promise.all(paid.map(({ path }) => declaresBazaar(`${url}${path}`)))
            const config = { name, extensions, endpoints: paid.filter((_, at) => declares[at]) }
            const facilitator = {
              proxy: { getUrl: () => stand.facilitatorUrl },
              config: { name: 'billing', extensions },
            }
            const ports = new Map([[name, Number(portOf(url))]])
            const result = await handleDiscoveryValidation([facilitator], [{ config }], ports)
            expect(config.endpoints).not.toEqual([])
            expect(result).toMatchObject({
              success: true,
              totalExpectedEndpoints: config.endpoints.length,
              facilitatorResults: [{ missingEndpoints: [] }],
            })
          },
        )
      })
    },
  )
})
