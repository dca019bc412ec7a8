import type { SimulatePayload } from './payload.js'

/** The request as code for one client library. */
export interface Snippet {
  client: string
  code: string
}

/** @param url the gateway's `/ethereum` */
export function snippetsOf(payload: SimulatePayload, block: string, url: string): Snippet[] {
  const params = JSON.stringify([payload, block])
  const isOfAccount = payload.blockStateCalls.some(({ calls }) =>
    calls.some((call) => call.userOperation || call.safeTransaction),
  )
  const method = isOfAccount ? 'upfront_simulate' : 'eth_simulateV1'
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [payload, block] })
  const quoted = (text: string) => text.replaceAll("'", `'\\''`)
  return [
    { client: 'curl', code: `curl -s ${url} -H 'content-type: application/json' -d '${quoted(body)}'` },
    {
      client: 'viem',
      code: [
        "import { createPublicClient, http } from 'viem'",
        `const client = createPublicClient({ transport: http('${url}') })`,
        `console.log(await client.request({ method: '${method}', params: ${params} }))`,
      ].join('\n'),
    },
    {
      client: 'alloy',
      code: [
        `let provider = ProviderBuilder::new().connect_http("${url}".parse()?);`,
        `let params: serde_json::Value = serde_json::from_str(r#"${params}"#)?;`,
        `let blocks: Vec<SimulatedBlock> = provider.raw_request("${method}".into(), params).await?;`,
      ].join('\n'),
    },
    {
      client: 'web3.py',
      code: [
        'import json',
        'from web3 import Web3',
        `w3 = Web3(Web3.HTTPProvider("${url}"))`,
        `print(w3.provider.make_request("${method}", json.loads(r'''${params}''')))`,
      ].join('\n'),
    },
  ]
}
