import { setPriority } from 'node:os'
import { ATTACKS } from './attacks.js'

/**
 * `attacker.js NAME URL NODE_URL`: attacks until it is killed, in a process of its own, so that it delays no bystander. Attackers have
 * machines of their own: here the service goes first where cores are few.
 */
const [, , name, url = '', nodeUrl = ''] = process.argv
setPriority(10)
setInterval(() => undefined, 2 ** 30)
await ATTACKS.find((attack) => attack.name === name)!.run(url, nodeUrl)
