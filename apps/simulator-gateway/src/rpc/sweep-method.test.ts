import type { BlockPosition } from '@upfront/protocol'
import type { RpcContext } from '../requests/rpc-method.js'
import { sweepMethod } from './sweep-method.js'

it('stops the sweep once its outcomes exceed answerBytes, and reserves memory for them as they grow', async () => {
  let runs = 0
  const reserved: number[] = []
  const outcome = `[{"calls":[{"returnData":"0x${'00'.repeat(200)}"}]}]`
  const head = { header: {}, key: '0x1' }
  const opened = { transactions: Array.from({ length: 99 }, () => ({ hash: '0x1' })), prefix: { isSame: () => false } }
  const sweeping = {
    simulator: {
      decode: () => ({ request: { block: { block: {} } as BlockPosition }, inspection: undefined }),
      run: (_: unknown, __: unknown, work: (answer: object) => unknown) => {
        runs += 1
        return work({ json: outcome, gasUsed: 1n })
      },
    },
    positions: { openPinned: async () => opened, after: async () => undefined },
    bases: { snapshotFor: () => undefined, isHead: () => true, head: () => head },
    chain: {},
  }
  const context = {
    ...{ view: {}, deadline: performance.now() + 10_000, signal: new AbortController().signal },
    limits: { gas: 1_000n, answerBytes: 2_000 },
    reserve: (bytes: number) => reserved.push(bytes),
  }
  const params = [{ blockStateCalls: [{ calls: [{}] }], positions: 'all' }, 'latest']
  const method = sweepMethod(sweeping as unknown as Parameters<typeof sweepMethod>[0])
  await expect(method(params, context as unknown as RpcContext)).rejects.toThrow('longer than 2000 bytes')
  expect(runs).toBe(5)
  expect(reserved).toHaveLength(4)
  expect(reserved.toSorted((one, other) => one - other)).toEqual(reserved)
})
