export { loadRevm, type RevmAvailability } from './addon.js'
export { portableModule } from './portable/module.js'
export { createPortableEngine, createRevmEngine, type RevmEngine, type RevmEngineOptions } from './revm-engine.js'
