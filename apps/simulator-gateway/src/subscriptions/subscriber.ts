/** Sends results of a subscription, each as JSON. */
export type Notify = (...results: string[]) => void

/** A connection that can receive notifications. */
export interface Subscriber {
  /**
   * Opens a subscription. Its notifications are sent after the answer with its ID.
   * @param begin starts the subscription: `notify` sends results, each as JSON, and `drop` closes the connection if events were missed;
   * returns a function that ends it
   * @param kept characters that it keeps, if they may exceed its opening message
   * @returns the ID
   * @throws RpcError -32005 if the connection or client has too many
   */
  subscribe(
    begin: (notify: Notify, drop: (reason: string) => void) => Promise<() => void>,
    kept?: number,
  ): Promise<string>
  /** Ends a subscription. Returns false if there is none with this ID. */
  unsubscribe(id: string): boolean
  /**
   * Makes a call on the client's behalf: in its turn, on its budget. Returns the answer; undefined once the client has gone.
   * @param params JSON
   */
  call(method: string, params: string): Promise<string | undefined>
}
