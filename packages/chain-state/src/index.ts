export * from './chain-state.js'
export { ChainMismatch, type ChainRulesOptions } from './rules/fetch-chain-rules.js'
