import { ATTACKS } from './attacks.js'

/** `attacker.js NAME URL`: attacks until it is killed, in a process of its own, so that it delays no bystander. */
const [, , name, url = ''] = process.argv
setInterval(() => undefined, 2 ** 30)
await ATTACKS.find((attack) => attack.name === name)!.run(url)
