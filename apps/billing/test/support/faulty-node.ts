export { type FaultyNode, type NodeFault as Fault, startFaultyNode } from '@upfront/devnet'
