export { Environment, EnvironmentError, readEnvironment } from './environment.js'
export { createGateway, type Gateway, startGateway } from './gateway.js'
