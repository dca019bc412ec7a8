import { closest, distance } from 'fastest-levenshtein'

/** Environment variables of the program, with their defaults. */
export const SETTINGS = {
  DEVNET_PORT: '8545',
  DEVNET_HOST: '127.0.0.1',
  DEVNET_BLOCK_TIME_SECONDS: 'a block for each transaction; 2 with a stream of flashblocks',
  DEVNET_FLASHBLOCKS_PORT: 'no stream',
  DEVNET_OPTIMISM: '1: an OP-stack chain',
}

/** A variable this many letters from a setting's name is probably a typo. */
const MAX_LETTERS = 2

/** A warning for each variable that looks like a misspelt setting. */
export function misspelt(variables: NodeJS.ProcessEnv): string[] {
  const names = Object.keys(SETTINGS)
  return Object.keys(variables).flatMap((variable) => {
    if (names.includes(variable)) return []
    const meant = closest(variable.toUpperCase(), names)
    const isFar = distance(variable.toUpperCase(), meant) > MAX_LETTERS
    return isFar ? [] : [`${variable} is not a setting: did you mean ${meant}?`]
  })
}
