/** Contracts with the same address on every chain, in lower case. */
export const KNOWN_CONTRACTS: Record<string, string> = {
  '0x000000000022d473030f116ddee9f6b43ac78ba3': 'Permit2',
  '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002': 'x402 upto proxy',
  '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789': 'EntryPoint 0.6',
  '0x0000000071727de22e5e9d8baf0edac6f37da032': 'EntryPoint 0.7',
  '0x4337084d9e255ff0702461cf8895ce9e3b5ff108': 'EntryPoint 0.8',
  '0xca11bde05977b3631167028862be2a173976ca11': 'Multicall3',
  '0x4200000000000000000000000000000000000006': 'WETH',
  '0x40a2accbd92bca938b02010e17a5b8929b49130d': 'Safe MultiSend',
  '0x9641d764fc13c8b624c04430c7356c1c7c8102e2': 'Safe MultiSend',
  '0x0000000000000000000000000000000000000000': 'nobody',
}
