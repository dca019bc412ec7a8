import { itKeepsTheContract } from '@upfront/engine-conformance'
import { BUILDS } from './builds.js'

describe.each(BUILDS)('the %s engine', (_, create) => itKeepsTheContract(create))
