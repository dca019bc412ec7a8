// What the checker takes of `node:fs`, on a page: a file of the page's own, read as a worker may.

/** @throws Error where it is not there */
export function readFileSync(url: URL): string {
  const request = new XMLHttpRequest()
  request.open('GET', url, false)
  request.send()
  if (request.status !== 200) throw new Error(`${url.pathname}: ${request.status}`)
  return request.responseText
}

export function existsSync(): boolean {
  return false
}
