import { setPriority } from 'node:os'
import { ATTACKS } from './attacks.js'

/**
 * `attacker.js NAME URL NODE_URL`: attacks until killed, in a separate process, so that it does not delay the bystander. Real attackers use
 * their own machines, so here the service gets priority for the CPU.
 */
const [, , name, url = '', nodeUrl = ''] = process.argv
setPriority(10)
setInterval(() => undefined, 2 ** 30)
await ATTACKS.find((attack) => attack.name === name)!.run(url, nodeUrl)
