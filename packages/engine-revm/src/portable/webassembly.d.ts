// The used part of WebAssembly's JavaScript interface, which neither TypeScript's `es2023` nor Node's types declare.

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
    static customSections(module: Module, name: string): ArrayBuffer[]
  }

  class Memory {
    constructor(bounds: { initial: number; maximum: number })
    readonly buffer: ArrayBuffer
  }

  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>)
    readonly exports: Record<string, (...values: number[]) => number>
  }

  class RuntimeError extends Error {}

  function compile(bytes: Uint8Array): Promise<Module>
}
