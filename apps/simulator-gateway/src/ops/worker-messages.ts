/** From a worker: its greeting, once it listens, or a question for the metrics of all. */
export type ToPrimary = { kind: 'greeting'; greeting: string } | { kind: 'metrics'; id: number }
/** To a worker: the answer. */
export interface ToWorker {
  kind: 'metrics'
  id: number
  text: string
}
