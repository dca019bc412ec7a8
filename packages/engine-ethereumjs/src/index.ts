export { createEthereumJsEngine, type EthereumJsEngine, type EthereumJsEngineOptions } from './ethereumjs-engine.js'
