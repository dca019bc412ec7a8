// `npm run demo`: a buyer asks the gateway for the effect of a USDC transfer, and pays what the answer cost.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type Address, createPublicClient, encodeFunctionData, erc20Abi, formatUnits, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const HELP = `npm run demo: a buyer asks the gateway what a transfer of USDC would do, and pays for the answer what it took.

  GATEWAY_URL        http://127.0.0.1:8080; else GATEWAY_HOST and GATEWAY_PORT
  CHAIN_RPC_URL      a node that the buyer trusts: the local chain's, at DEVNET_PORT
  BUYER_PRIVATE_KEY  the local chain's buyer`

if (process.argv.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const { env } = process
const host = !env.GATEWAY_HOST || ['0.0.0.0', '::'].includes(env.GATEWAY_HOST) ? '127.0.0.1' : env.GATEWAY_HOST
const gateway = env.GATEWAY_URL || `http://${host}:${env.GATEWAY_PORT || 8080}`
/** Default: the buyer of the local chain, whose key is public. */
const account = privateKeyToAccount(
  (process.env.BUYER_PRIVATE_KEY ?? '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d') as Hex,
)
/** Record of the purchase, for the check at the end and for later. One file per gateway. */
const receiptFile = `.data/receipt-${new URL(gateway).host.replaceAll(/[^\w.]/g, '-')}.json`
const receiptCommand = fileURLToPath(new URL('../../../packages/receipt/bin/receipt.mjs', import.meta.url))
const chain = createPublicClient({ transport: http(gateway) })
/** Asked for the chain's rules, so that the buyer need not trust the seller for them. */
const ownNode = createPublicClient({
  transport: http(env.CHAIN_RPC_URL || `http://127.0.0.1:${env.DEVNET_PORT || 8545}`),
})

async function balanceOf(token: Address, owner: Address): Promise<bigint> {
  return chain.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
}

/** Waits until the head includes the transaction: a charge may be answered before it is mined. */
async function mined(hash: Hex): Promise<void> {
  for (;;) {
    const receipt = await chain.getTransactionReceipt({ hash }).catch(() => undefined)
    if (receipt !== undefined && (await chain.getBlockNumber({ cacheTime: 0 })) >= receipt.blockNumber) return
    await sleep(200)
  }
}

/** Checks the bill offline, from the file alone. @throws Error if the bill is wrong, or can't be checked completely */
function checkBill(exchange: object): void {
  mkdirSync(dirname(receiptFile), { recursive: true })
  writeFileSync(receiptFile, JSON.stringify(exchange, null, 2))
  const { status, stdout, stderr } = spawnSync(process.execPath, [receiptCommand, 'verify', receiptFile], {
    encoding: 'utf8',
  })
  console.log(`${stdout}${stderr}`.trimEnd().replace(/^/gm, '   '))
  if (status !== 0) throw new Error('the bill is not right')
}

/** The price of a request: the decoded PAYMENT-REQUIRED header of its 402. */
async function offerFor(url: string, init: RequestInit = {}): Promise<PaymentRequired> {
  const refusal = await fetch(url, init)
  const header = refusal.headers.get('payment-required')
  if (refusal.status !== 402 || header === null)
    throw new Error(`expected 402, got ${refusal.status}: does this gateway sell? (billing must run too)`)
  return decodePaymentRequiredHeader(header)
}

interface Answer {
  result?: { calls: object[] }[]
  error?: object
  charge?: object
  receipt?: object
  witness?: object
}

async function main(): Promise<void> {
  console.log(`1. Ask ${gateway} what a transfer would do, without paying`)
  const chainId = await chain.getChainId()
  const probe = `${gateway}/v1/preview?from=${account.address}&to=${account.address}`
  const offer = (await offerFor(probe)).accepts.find(({ scheme }) => scheme === 'upto')
  if (offer === undefined) throw new Error('the gateway offers no `upto` payment')
  const token = offer.asset as Address
  const decimals = await chain.readContract({ address: token, abi: erc20Abi, functionName: 'decimals' })
  const dollars = (amount: bigint | string) => `$${formatUnits(BigInt(amount), decimals)}`
  console.log(`   402 Payment Required: at most ${dollars(offer.amount)}, to ${offer.payTo}\n`)

  const balances = async () => {
    const [buyer, seller] = await Promise.all(
      [account.address, offer.payTo as Address].map((owner) => balanceOf(token, owner)),
    )
    return { buyer: buyer ?? 0n, seller: seller ?? 0n }
  }
  const before = await balances()

  console.log('2. Sign that maximum, and ask again: send 25 USDC to the seller')
  const client = new x402Client()
    .register(`eip155:${chainId}`, new UptoEvmScheme(account, { rpcUrl: gateway }))
    .setSpendControls({ allowedAssets: true })
  const args = [offer.payTo as Address, 25n * 10n ** BigInt(decimals)] as const
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args })
  let payment = ''
  const send: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    payment = request.headers.get('payment-signature') ?? payment
    return fetch(request)
  }
  const url = `${gateway}/v1/simulate?witness=1`
  const transfer = { from: account.address, to: token, input: data }
  const params = [{ blockStateCalls: [{ calls: [transfer] }], assetChanges: true }, 'latest']
  const request = { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params }
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) }
  const required = await offerFor(url, post)
  const answer = await wrapFetchWithPayment(send, client)(url, post)
  const body: unknown = await answer.json()
  const receiptHeader = answer.headers.get('payment-response')
  if (!answer.ok || receiptHeader === null) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(body)}`)
  const { receipt, witness, result, charge, error } = body as Answer
  const call = result?.[0]?.calls[0]
  if (call === undefined) throw new Error(`the simulation was refused: ${JSON.stringify(error)}`)
  console.log(`${JSON.stringify({ ...call, charge }, null, 2).replace(/^/gm, '   ')}`)
  const witnessBytes = JSON.stringify(witness).length
  console.log(`   with ${receipt === undefined ? 'no' : 'a signed'} receipt, and a witness of ${witnessBytes} bytes\n`)

  const settlement = decodePaymentResponseHeader(receiptHeader)
  const charged = BigInt(settlement.amount ?? 0)
  console.log(`3. Charged ${dollars(charged)} of at most ${dollars(offer.amount)}`)
  console.log(`   transaction ${settlement.transaction || 'none: nothing was charged'}`)
  if (settlement.transaction) await mined(settlement.transaction as Hex)
  const after = await balances()
  console.log(`   buyer   ${dollars(before.buyer)} -> ${dollars(after.buyer)}`)
  console.log(`   seller  ${dollars(before.seller)} -> ${dollars(after.seller)}`)
  if (before.buyer - after.buyer !== charged) throw new Error('the balances do not show the charge')

  console.log(`\n4. Check the bill offline (${receiptFile}): hashes, signature, and the usage by executing it again`)
  if (receipt === undefined) return console.log('   this seller signs no receipts')
  const rules = await ownNode.request({ method: 'eth_config' as never }).catch(() => undefined)
  checkBill({
    request: { url, body: request },
    answer: body,
    offer: required,
    payment: decodePaymentSignatureHeader(payment),
    settlement,
    seller: await (await fetch(`${gateway}/.well-known/upfront.json`)).json(),
    ...(rules === undefined ? {} : { chain: rules }),
  })
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error)
  const unreachable = error instanceof TypeError || /fetch failed|ECONNREFUSED/.test(message)
  console.error(unreachable ? `${gateway} does not answer: run \`npm start\` first, in another terminal` : message)
  process.exitCode = 1
})
