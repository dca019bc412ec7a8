import Fastify, { type FastifyInstance } from 'fastify'
import { Memory } from '../limits/memory.js'
import { AnswerSender } from './answer-sender.js'

const LONG = `"${'ä'.repeat(1_000_000)}"`
const SLICE_BYTES = 256 * 1024

describe('AnswerSender', () => {
  const memory = new Memory(1024 * 1024 * 1024)
  const sender = new AnswerSender(memory)
  let server: FastifyInstance
  let writes: number[]
  let held: number

  beforeEach(async () => {
    writes = []
    server = Fastify()
    server.get('/:kind', (request, reply) => {
      const { kind } = request.params as { kind: string }
      const { write } = reply.raw
      reply.raw.write = (...given: unknown[]) => {
        writes.push((given[0] as Buffer).length)
        return Reflect.apply(write, reply.raw, given)
      }
      const body = kind === 'short' ? ['"a', Buffer.from('b"')] : [LONG]
      sender.send(reply, { status: 200, body }, { header: 'block=1' })
      held = memory.bytes
    })
    await server.listen({ port: 0 })
  })
  afterEach(() => server.close())

  const get = (kind: string) => fetch(`http://127.0.0.1:${(server.server.address() as { port: number }).port}/${kind}`)

  it('sends a short answer in one piece with its headers and reserves no memory', async () => {
    const response = await get('short')
    expect(response.headers.get('upfront-state')).toBe('block=1')
    expect(await response.json()).toBe('ab')
    expect(held).toBe(0)
  })

  it('sends a long answer in slices with its content-length, reserving memory until it is read', async () => {
    const response = await get('long')
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(LONG)))
    expect(await response.text()).toBe(LONG)
    expect(Math.max(...writes)).toBeLessThanOrEqual(SLICE_BYTES)
    expect(writes.length).toBeGreaterThan(7)
    expect(held).toBe(LONG.length)
    await server.close()
    expect(memory.bytes).toBe(0)
  })
})
