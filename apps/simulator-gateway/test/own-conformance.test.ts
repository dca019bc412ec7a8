import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

interface Recorded {
  name: string
  params: unknown
  answer: { result?: { hash: string; stateRoot: string }[]; error?: { code: number; message: string } }
}

/** geth's recorded answers on `conformance/genesis.json`: see `conformance/record.mjs`. */
const cases: Recorded[] = JSON.parse(readFileSync(new URL('./conformance/cases.json', import.meta.url), 'utf8'))
const genesis = fileURLToPath(new URL('./conformance/genesis.json', import.meta.url))

/** geth's answer without state roots, which we don't compute, and therefore with other block hashes. */
function asOurs(answer: Recorded['answer'], ours: { hash: string }[] | undefined): unknown {
  const { result } = answer
  if (result === undefined) return { error: expect.objectContaining({ code: answer.error?.code }) }
  let text = JSON.stringify(result)
  result.forEach(({ hash, stateRoot }, index) => {
    text = text.replaceAll(hash.slice(2), ours?.[index]?.hash.slice(2) ?? 'none')
    text = text.replaceAll(stateRoot.slice(2), '0'.repeat(64))
  })
  return { result: JSON.parse(text) }
}

describe.each(['auto', 'portable'])('answers equal those recorded from geth, on engine %s', (engine) => {
  let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
  let gateway: GatewayProcess

  beforeAll(async () => {
    upstream = await startGenesisUpstream()
    gateway = await startGateway({
      UPSTREAM_RPC_URL: upstream.url,
      CHAIN_GENESIS_FILE: genesis,
      DIALECT: 'ethereum',
      EVM_ENGINE: engine,
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    upstream?.close()
  })

  it.each(cases)('$name', async ({ params, answer }) => {
    const { result, error } = await gateway.call<{ hash: string }[]>('eth_simulateV1', params)
    expect(error === undefined ? { result } : { error }).toEqual(asOurs(answer, result))
  })
})
