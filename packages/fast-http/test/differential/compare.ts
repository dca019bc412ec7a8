/** An answer as far as it matters: `date` changes, and names of headers have no case and no order. */
export interface ComparedAnswer {
  status: string
  headers: string[]
  body: string
}

/** The answers in what came back on a connection. */
export function answersIn(text: string): ComparedAnswer[] {
  const answers: ComparedAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`not an answer: ${JSON.stringify(rest)} in ${JSON.stringify(text)}`)
    const [status = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
    const length = Number(headers.find((line) => line.startsWith('content-length: '))?.slice(16) ?? 0)
    const isBodiless = rest.slice(end + 4, end + 9) === 'HTTP/'
    // Node's own refusals, 417, are chunks of nothing.
    const isEmpty = headers.includes('transfer-encoding: chunked')
    const body = isBodiless ? '' : rest.slice(end + 4, end + 4 + (isEmpty ? 5 : length))
    answers.push({ status, headers: headers.filter((line) => !line.startsWith('date: ')).sort(), body })
    rest = rest.slice(end + 4 + body.length)
  }
  return answers
}
