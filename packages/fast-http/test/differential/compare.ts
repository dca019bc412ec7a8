/** An answer as compared: without `date`, header names lower-cased and sorted. */
export interface ComparedAnswer {
  status: string
  headers: string[]
  body: string
}

/** Parses the answers received on a connection. */
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
    // Node's own 417 refusals are chunked with an empty body.
    const isEmpty = headers.includes('transfer-encoding: chunked')
    const body = isBodiless ? '' : rest.slice(end + 4, end + 4 + (isEmpty ? 5 : length))
    answers.push({ status, headers: headers.filter((line) => !line.startsWith('date: ')).sort(), body })
    rest = rest.slice(end + 4 + body.length)
  }
  return answers
}
