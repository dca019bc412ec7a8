import moduleUrl from '@upfront/engine-revm/portable.wasm?url'
import { checkBill, type Verification } from '@upfront/receipt/page'

/** What the page asks: a bill, as its buyer kept it. */
export type Question = { bill: unknown; signer?: string }
/** What it is told: `fault` where it is no bill. */
export type Reply = { verification: Verification } | { fault: string }

self.onmessage = async ({ data: { bill, signer } }: MessageEvent<Question>) => {
  try {
    const module = await WebAssembly.compileStreaming(fetch(moduleUrl))
    self.postMessage({ verification: await checkBill(bill, module, signer ? { signer } : {}) } satisfies Reply)
  } catch (error) {
    self.postMessage({ fault: (error as Error).message } satisfies Reply)
  }
}
