export { createEthereumJsEngine, type EthereumJsEngineOptions } from './ethereumjs-engine.js'
