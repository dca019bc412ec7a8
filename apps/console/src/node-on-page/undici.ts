// The checker asks nobody: Node's HTTP client is left out.

export class Pool {
  constructor() {
    throw new Error('a page asks no node')
  }
}
