import { connect } from 'node:net'

/** The status that a request gets that is sent as it is: fetch would tidy it up, or refuse it. */
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
