export { loadRevm, type RevmAvailability } from './addon.js'
export { createPortableEngine, createRevmEngine, type RevmEngine, type RevmEngineOptions } from './revm-engine.js'
