import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Engine, SimulationOutcome } from '@upfront/simulation'

/**
 * The engine, refusing outcomes whose return data and logs would make an answer of more than `maxBytes` (as JSON: two
 * characters a byte). 50M gas can return 100 MB.
 */
export function withAnswerLimit(engine: Engine, maxBytes: number): Engine {
  return {
    name: engine.name,
    version: engine.version,
    async simulate(plan, state, signal) {
      const outcome = await engine.simulate(plan, state, signal)
      if (answerBytes(outcome) > maxBytes) {
        throw new RpcError(
          ErrorCode.limitExceeded,
          `the answer's return data and logs are longer than ${maxBytes} bytes`,
        )
      }
      return outcome
    },
    close: () => engine.close(),
  }
}

function answerBytes({ blocks }: SimulationOutcome): number {
  let bytes = 0
  for (const { calls } of blocks) {
    for (const { returnData, logs } of calls) {
      bytes += returnData.length
      for (const { data, topics } of logs) bytes += data.length + 68 * topics.length
    }
  }
  return bytes
}
