import moduleUrl from '@upfront/engine-revm/portable.wasm?url'
import { checkBill, type Verification } from '@upfront/receipt/page'

/** Message to the worker: a bill as its buyer kept it. */
export type Question = { bill: unknown; signer?: string }
/** Reply of the worker: `fault` if the input is not a bill. */
export type Reply = { verification: Verification } | { fault: string }

self.onmessage = async ({ data: { bill, signer } }: MessageEvent<Question>) => {
  try {
    const module = await WebAssembly.compileStreaming(fetch(moduleUrl))
    self.postMessage({ verification: await checkBill(bill, module, signer ? { signer } : {}) } satisfies Reply)
  } catch (error) {
    self.postMessage({ fault: (error as Error).message } satisfies Reply)
  }
}
