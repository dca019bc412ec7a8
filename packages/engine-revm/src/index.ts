export { loadRevm, type RevmAvailability } from './addon.js'
export { createRevmEngine, type RevmEngine, type RevmEngineOptions } from './revm-engine.js'
