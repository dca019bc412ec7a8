import { itKeepsTheContract } from '@upfront/engine-conformance'
import { createEthereumJsEngine } from '../src/index.js'

describe('the ethereumjs engine', () => itKeepsTheContract(createEthereumJsEngine))
