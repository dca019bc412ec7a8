export { createEthereumJsEngine, type EthereumJsEngine, type EthereumJsEngineOptions } from './ethereumjs-engine.js'
export { headerHash } from './seal/seal-block.js'
