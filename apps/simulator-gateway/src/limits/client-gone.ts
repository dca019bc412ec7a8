/** The reason to stop work for a client that closed its connection. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
  constructor() {
    super('the client closed the connection')
  }
}
