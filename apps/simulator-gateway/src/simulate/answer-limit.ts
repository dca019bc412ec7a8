import { andThen } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { type Engine, type SimulationOutcome, type WrittenOutcome } from '@upfront/simulation'

/**
 * The engine, refusing outcomes whose return data and logs would make an answer of more than `maxBytes` (as JSON: two
 * characters a byte). 50M gas can return 100 MB.
 */
export function withAnswerLimit(engine: Engine, maxBytes: number): Engine {
  const limited: Engine = {
    name: engine.name,
    version: engine.version,
    async simulate(plan, state, signal) {
      const outcome = await engine.simulate(plan, state, signal)
      if (outcomeBytes(outcome) > maxBytes) throw tooLong(maxBytes)
      return outcome
    },
    close: () => engine.close(),
  }
  if (engine.write !== undefined) {
    const { write } = engine
    limited.write = (plan, state, cancellation) =>
      andThen(write.call(engine, plan, state, cancellation), (outcome) => {
        if (writtenBytes(outcome) > maxBytes) throw tooLong(maxBytes)
        return outcome
      })
  }
  return limited
}

function tooLong(maxBytes: number): RpcError {
  return new RpcError(ErrorCode.limitExceeded, `the answer's return data and logs are longer than ${maxBytes} bytes`)
}

function outcomeBytes({ blocks }: SimulationOutcome): number {
  let bytes = 0
  for (const { calls } of blocks) {
    for (const { returnData, logs } of calls) {
      bytes += returnData.length
      for (const { data, topics } of logs) bytes += data.length + 68 * topics.length
    }
  }
  return bytes
}

function writtenBytes({ pieces, failures }: WrittenOutcome): number {
  let bytes = 0
  for (const piece of pieces) bytes += piece.length
  for (const { returnData } of failures) bytes += returnData.length
  return bytes
}
