// The facilitator of @x402/core and @x402/evm over HTTP, in a separate process. It uses viem's nonce
// manager: with plain nonces, half of its concurrent settlements fail.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'

const { RPC_URL, FACILITATOR_PRIVATE_KEY } = process.env
if (RPC_URL === undefined || FACILITATOR_PRIVATE_KEY === undefined) throw new Error('RPC_URL, FACILITATOR_PRIVATE_KEY')
const account = privateKeyToAccount(FACILITATOR_PRIVATE_KEY as `0x${string}`, { nonceManager })
const client = createWalletClient({ account, chain: foundry, transport: http(RPC_URL), pollingInterval: 50 }).extend(
  publicActions,
)
const signer = toFacilitatorEvmSigner({
  address: account.address,
  getCode: (call) => client.getCode(call),
  readContract: (call) => client.readContract(call as never),
  verifyTypedData: (call) => client.verifyTypedData(call as never),
  writeContract: (call) => client.writeContract(call as never),
  sendTransaction: (call) => client.sendTransaction(call),
  waitForTransactionReceipt: (call) => client.waitForTransactionReceipt(call),
})
const facilitator = new x402Facilitator().register('eip155:31337', new UptoEvmScheme(signer))

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const answer = await facilitator[request.url === '/verify' ? 'verify' : 'settle'](paymentPayload, paymentRequirements)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
