import { itKeepsTheContract } from '@upfront/engine-conformance'
import { createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
if (reason !== undefined) console.log(`the tests of the native engine are skipped: ${reason}`)
const describeNative = reason === undefined ? describe : describe.skip

describeNative('the native engine', () => itKeepsTheContract(createRevmEngine))
