import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { writeInSlices } from './write-in-slices.js'

describe('writeInSlices', () => {
  it('writes short parts immediately, in order', () => {
    const stream = new PassThrough()
    let isDone = false
    writeInSlices(
      stream,
      ['a', Buffer.from('b')],
      (slice) => stream.write(slice),
      () => {
        isDone = true
      },
    )
    // From Node 26 on, a read returns one part; earlier versions return all of them.
    let written = ''
    for (let part = stream.read(); part !== null; part = stream.read()) written += part
    expect([isDone, written]).toEqual([true, 'ab'])
  })

  it('writes each slice of a long part when the stream has drained and marks the last one', async () => {
    const stream = new PassThrough()
    const text = 'ä'.repeat(400_000)
    const written: [number, boolean][] = []
    const done = new Promise<void>((resolve) => {
      writeInSlices(
        stream,
        [text],
        (slice, isLast) => {
          written.push([slice.length, isLast])
          stream.write(slice)
        },
        resolve,
      )
    })
    await setImmediate()
    expect(written).toEqual([[262_144, false]])
    const pieces: Buffer[] = []
    stream.on('data', (piece) => pieces.push(piece))
    await done
    expect(written.map(([, isLast]) => isLast)).toEqual([false, false, false, true])
    expect(Buffer.concat(pieces).toString()).toBe(text)
  })

  it('stops if the stream is closed', async () => {
    const stream = new PassThrough()
    const done = new Promise<void>((resolve) => {
      writeInSlices(stream, [Buffer.alloc(600_000)], (slice) => stream.write(slice), resolve)
    })
    stream.destroy()
    await done
    expect(stream.writableLength).toBeLessThan(300_000)
  })
})
