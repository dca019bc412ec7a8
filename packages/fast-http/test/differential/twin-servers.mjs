// Plays byte sequences to two servers of this process, one of them behind the front, and reports what each answered. It is a
// separate process because it runs on the Node of the image. Messages: { id, pieces } in, { id, byNode, behindFront, fast } out.
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { attachFront } from '@upfront/fast-http'

const servers = { byNode: await startServer(false), behindFront: await startServer(true) }

process.on('message', async ({ id, pieces }) => {
  const bytes = pieces.map((piece) => Buffer.from(piece, 'latin1'))
  const [byNode, behindFront] = await Promise.all([play(servers.byNode, bytes), play(servers.behindFront, bytes)])
  process.send({ id, byNode: byNode.answer, behindFront: behindFront.answer, fast: behindFront.fast })
})
process.on('disconnect', () => process.exit())
process.send({ version: process.version })

/** Answers each request with a description of it, as seen by Node or by the front. */
async function startServer(withFront) {
  const accepted = new Map()
  let waiting = 0
  /** Delays the answer if the body asks for it. */
  const whenDue = (body, answer) => {
    if (body !== '"late"') return answer([])
    waiting += 1
    setImmediate(() => {
      answer(['x-waiting', String(waiting)])
      setImmediate(() => {
        waiting -= 1
      })
    })
  }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const { method, url, headers } = request
      const body = Buffer.concat(chunks).toString()
      whenDue(body, ([name, value]) => {
        const answer = Buffer.from(textOf(method, url, headers['x-request-id'], body))
        if (name !== undefined) response.setHeader(name, value)
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
        response.end(answer)
      })
    })
  })
  server.on('clientError', (error, socket) => {
    if (!socket.writable) return socket.destroy()
    socket.end(`HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\nx-code: ${error.code}\r\n\r\n`)
  })
  server.keepAliveTimeout = 3_600_000
  server.headersTimeout = server.requestTimeout = 0
  if (withFront) {
    attachFront(server, {
      maxBodyBytes: 100_000,
      bodyTimeoutMs: 3_600_000,
      longBodyTurn: () => new Promise(setImmediate),
      memoryOf: () => ({ take: () => undefined, give: () => undefined }),
      refuse: () => undefined,
      serve: ({ requestId, body, socket, respond }) => {
        accepted.get(socket.remotePort).fast += 1
        const text = String(body)
        whenDue(text, (more) => {
          respond(200, ['content-type', 'application/json', ...more], [textOf('POST', '/', requestId, text)])
        })
      },
    })
  }
  server.prependListener('connection', (socket) => {
    accepted.set(socket.remotePort, { socket, fast: 0 })
    socket.on('close', () => setImmediate(() => accepted.delete(socket.remotePort)))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: server.address().port, accepted }
}

function textOf(method, url, requestId, body) {
  return JSON.stringify({
    method,
    url,
    requestId,
    length: body.length,
    start: body.slice(0, 200),
    end: body.slice(-200),
  })
}

/** Sends each piece once the server has handled those before, then ends its side. @returns everything received until then */
async function play({ port, accepted }, pieces) {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  let answer = ''
  socket.on('data', (data) => {
    answer += data.toString('latin1')
  })
  let isClosed = false
  const closed = new Promise((resolve) => {
    socket
      .on('error', () => undefined)
      .on('close', () => {
        isClosed = true
        resolve()
      })
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  const { localPort } = socket
  while (!accepted.has(localPort)) await turn()
  const connection = accepted.get(localPort)
  let sent = 0
  for (const piece of pieces) {
    if (isClosed || connection.socket.destroyed || connection.socket.writableEnded) break
    socket.write(piece)
    sent += piece.length
    while (connection.socket.bytesRead < sent && !connection.socket.destroyed && !isClosed) await turn()
    // Data that was read is handled, answered and, with other requests queued, continued in later turns.
    for (let turns = 0; turns < 3; turns++) await turn()
  }
  if (!isClosed) socket.end()
  await closed
  return { answer, fast: connection.fast }
}

function turn() {
  return new Promise(setImmediate)
}
