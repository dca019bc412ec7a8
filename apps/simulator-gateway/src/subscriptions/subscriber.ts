/** Sends results of one subscription, each as JSON. */
export type Notify = (...results: string[]) => void

/** A client's connection on which notifications can be sent. */
export interface Subscriber {
  /**
   * Opens a subscription. Its notifications follow the answer that holds its id.
   * @param begin is given what sends results, each as JSON, and what ends the connection where something can't be told; returns what ends it
   * @param kept characters that it keeps, where those may be more than opened it
   * @returns the id
   * @throws RpcError -32005 where the connection has all it may have
   */
  subscribe(
    begin: (notify: Notify, drop: (reason: string) => void) => Promise<() => void>,
    kept?: number,
  ): Promise<string>
  /** Ends a subscription. False where there is none by this id. */
  unsubscribe(id: string): boolean
  /**
   * The answer to a call that is made for the client: in its turn, on its budget. Undefined once the client has gone.
   * @param params JSON
   */
  call(method: string, params: string): Promise<string | undefined>
}
