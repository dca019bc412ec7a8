export * from './fault.js'
export * from './faulty-upstream.js'
