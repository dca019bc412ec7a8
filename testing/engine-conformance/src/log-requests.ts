const RICH = `0xa${'0'.repeat(39)}`
const SPARE = `0xe${'0'.repeat(39)}`
const OTHER = `0xe${'0'.repeat(38)}1`
const THIRD = `0xe${'0'.repeat(38)}2`
const BLAKE2F = `0x${'9'.padStart(40, '0')}`
const IDENTITY = `0x${'4'.padStart(40, '0')}`
const BEACON_ROOTS = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const HISTORY_STORAGE = '0x0000f90827f1c53a10cb7a02335b175320002935'
/** A timestamp in Osaka. */
const blockOverrides = { time: '0x1004' }

const LOG = '5f5fa0'
const REVERT = '5f5ffd'
const MUCH = '61ffff'
const LAST_NONCE = { nonce: '0xffffffffffffffff' }

/** CALL of `address`; `value` and `gas` are instructions that push them. */
const call = (address: string, value = '5f', gas = '5a') => `5f5f5f5f${value}73${address.slice(2)}${gas}f150`
const callCode = (address: string, value: string) => `5f5f5f5f${value}73${address.slice(2)}5af250`
const staticCall = (address: string, gas = MUCH) => `5f5f5f5f73${address.slice(2)}${gas}fa50`
/** CREATE with eleven bytes of init code. */
const create = (code: string, value: string) => `6a${code.padEnd(22, '0')}5f52600b6015${value}f050`

/** Two blocks in which SPARE runs `code` three times, between two logs of its own. `accounts` are added to the state. */
function between(code: string, accounts: object = {}, spare: object = {}): object {
  const calls = ['0x', '0x01', '0x'].map((input) => ({ from: RICH, to: SPARE, input }))
  const own = { code: `0x${LOG}${code}${LOG}00`, balance: '0x64', ...spare }
  return request({ [SPARE]: own, ...accounts }, calls, calls)
}

function request(stateOverrides: object, ...blocks: object[][]): object {
  const blockStateCalls = blocks.map((calls, index) =>
    index === 0 ? { blockOverrides, stateOverrides, calls } : { calls },
  )
  return { traceTransfers: true, blockStateCalls }
}

/** How `logIndex` counts: all logs and traced transfers, including those of failed frames and calls. */
export const LOG_REQUESTS: Readonly<Record<string, object>> = {
  // Reverts if there is input: CALLDATASIZE, PUSH1, JUMPI.
  'a call that logs and reverts, between others': between(`36600b57${LOG}005b${REVERT}`),
  'a frame that logs and reverts': between(call(OTHER), { [OTHER]: { code: `0x${LOG}${LOG}${REVERT}` } }),
  'a frame that logs and halts': between(call(OTHER), { [OTHER]: { code: `0x${LOG}fe` } }),
  'a log that cannot be paid': between(call(OTHER, '5f', '6101ff'), { [OTHER]: { code: `0x${LOG}00` } }),
  'a transfer into a frame that reverts': between(call(OTHER, '6001'), { [OTHER]: { code: `0x${LOG}${REVERT}` } }),
  'a transfer beyond the balance': between(call(OTHER, MUCH)),
  'a transfer to itself': between(`36602757${call(SPARE, '6001', MUCH)}5b`),
  'a precompile, with value': between(call(IDENTITY, '6001')),
  'a precompile that fails, with value': between(call(BLAKE2F, '6001')),
  'CALLCODE with value': between(callCode(OTHER, '6001'), { [OTHER]: { code: `0x${LOG}00` } }),
  'CALLCODE with value beyond the balance': between(callCode(OTHER, MUCH)),
  'CALLCODE of itself, with value': request(
    { [SPARE]: { code: `0x${LOG}5f5f5f5f600130617ffff25000`, balance: '0x64' } },
    [{ from: RICH, to: SPARE, gas: '0x186a0' }],
  ),
  'a log in a static frame': between(staticCall(OTHER), { [OTHER]: { code: `0x${LOG}00` } }),
  'a log with topics in a static frame': between(staticCall(OTHER), { [OTHER]: { code: '0x5f5f60405fa200' } }),
  'a log with topics in a static frame that could not pay it': between(staticCall(OTHER, '6103e8'), {
    [OTHER]: { code: '0x5f5f5f5fa200' },
  }),
  'a transfer in a static frame': between(staticCall(OTHER), { [OTHER]: { code: `0x${call(THIRD, MUCH)}00` } }),
  'SELFDESTRUCT in a static frame': between(staticCall(OTHER), { [OTHER]: { code: '0x30ff', balance: '0x9' } }),
  'SELFDESTRUCT for itself': between(call(OTHER), { [OTHER]: { code: '0x30ff', balance: '0x9' } }),
  'SELFDESTRUCT in a frame that reverts': between(call(OTHER), {
    [OTHER]: { code: `0x${call(THIRD)}${REVERT}` },
    [THIRD]: { code: '0x33ff', balance: '0x9' },
  }),
  'CREATE with value': between('5f5f6001f050'),
  'CREATE with value beyond the balance': between(`5f5f${MUCH}f050`),
  'CREATE with value at the last nonce': between('5f5f6001f050', {}, LAST_NONCE),
  'CREATE2 with value at the last nonce': between('5f5f5f6001f550', {}, LAST_NONCE),
  'CREATE2 with value at the same address': between('5f5f5f6001f5505f5f5f6001f550'),
  'CREATE of code that logs and reverts': between(create(`${LOG}${LOG}${REVERT}`, '6001')),
  'CREATE of code that is refused': between(create(`${LOG}60ef5f5360015ff3`, '6001')),
  'a deployment with value at the last nonce': request({ [RICH]: LAST_NONCE, [SPARE]: { code: `0x${LOG}00` } }, [
    { from: RICH, value: '0x5' },
    { from: OTHER, to: SPARE },
  ]),
  'a deployment with value at the same address': request({ [SPARE]: { code: `0x${LOG}00` } }, [
    { from: RICH, value: '0x5', nonce: '0x0' },
    { from: RICH, value: '0x5', nonce: '0x0' },
    { from: OTHER, to: SPARE },
  ]),
  'a call that reverts, with value': request(
    { [SPARE]: { code: `0x${LOG}${REVERT}` }, [OTHER]: { code: `0x${LOG}00` } },
    [
      { from: RICH, to: SPARE, value: '0x5' },
      { from: RICH, to: OTHER, value: '0x1' },
    ],
  ),
  'system contracts that log': between('', {
    [BEACON_ROOTS]: { code: `0x${LOG}00` },
    [HISTORY_STORAGE]: { code: `0x${LOG}${LOG}00` },
  }),
  'a system contract that logs and reverts': between('', { [BEACON_ROOTS]: { code: `0x${LOG}${REVERT}` } }),
  'a system contract that pays': between('', {
    [BEACON_ROOTS]: { code: `0x${call(OTHER, '6001')}00`, balance: '0x64' },
  }),
}
