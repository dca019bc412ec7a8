import { connect } from 'node:net'

/** Sends a request verbatim and returns the status: `fetch` would normalize or refuse it. */
export function statusOf(url: string, line: string, headers: readonly string[] = []): Promise<number> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write([`${line} HTTP/1.1`, `Host: ${hostname}`, 'Connection: close', ...headers, '', ''].join('\r\n'))
    })
    let answer = ''
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('end', () => resolve(Number(/^HTTP\/1\.1 (?!100)(\d+)/m.exec(answer)?.[1])))
    socket.on('error', reject)
  })
}
