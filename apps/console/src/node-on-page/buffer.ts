// Node's global `Buffer`, on a page. Imported before what uses it.
import { Buffer } from 'buffer/'

Object.assign(globalThis, { Buffer })
