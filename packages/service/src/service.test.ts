import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import { EnvironmentError, readEnvironment } from './environment.js'
import { IsPort } from './environment-rules.js'
import { HealthController, Readiness } from './health.controller.js'
import { listen } from './listen.js'
import { createLogger, nestLogger } from './logger.js'
import { MetricsController } from './metrics.controller.js'
import { Metrics } from './metrics.js'
import { ServiceModule } from './service.module.js'

class Settings {
  @IsPort()
  PORT = 8080
}

const variables = { port: 'PORT', host: 'HOST' }

async function create(ready: () => boolean, given = {}): Promise<NestFastifyApplication> {
  const metrics = new Metrics()
  metrics.counter('things_total', 'Things', () => 3)
  const module = await Test.createTestingModule({
    imports: [ServiceModule.forRoot(readEnvironment(Settings, given), createLogger({ level: 'silent' }))],
    controllers: [HealthController, MetricsController],
    providers: [
      { provide: Metrics, useValue: metrics },
      { provide: Readiness, useValue: { report: async () => ({ ready: ready(), queued: 1 }) } },
    ],
  }).compile()
  return module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false })
}

describe('a service', () => {
  it('serves health, readiness, liveness and metrics', async () => {
    let ready = true
    const app = await create(() => ready)
    const url = await listen(app, { port: 0, host: '127.0.0.1', variables })
    try {
      const health = async (path: string) => {
        const answer = await fetch(`${url}${path}`)
        return { status: answer.status, body: await answer.json() }
      }
      expect(await health('/health')).toEqual({ status: 200, body: { ready: true, queued: 1 } })
      ready = false
      expect(await health('/health/ready')).toEqual({ status: 503, body: { ready: false, queued: 1 } })
      expect(await health('/health/live')).toEqual({ status: 200, body: { live: true } })
      const metrics = await fetch(`${url}/metrics`)
      expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
      expect(await metrics.text()).toContain('things_total 3')
    } finally {
      await app.close()
    }
  })

  it('injects settings by their class and refuses to start with bad ones', async () => {
    const app = await create(() => true, { PORT: '9000' })
    expect(app.get(Settings, { strict: false }).PORT).toBe(9000)
    await app.close()
    await expect(create(() => true, { PORT: 'x' })).rejects.toThrow(EnvironmentError)
  })

  it('names the variable if its port is in use, and runs the shutdown hooks', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as AddressInfo
    const hooks: string[] = []
    class Worker implements OnApplicationBootstrap, OnApplicationShutdown {
      onApplicationBootstrap = () => void hooks.push('started')
      onApplicationShutdown = () => void hooks.push('stopped')
    }
    @Module({ providers: [Worker] })
    class AppModule {}
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile()
    const app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false })
    const listening = listen(app, { port, host: '127.0.0.1', variables })
    await expect(listening).rejects.toThrow(`port ${port} on 127.0.0.1 is in use: set PORT to another`)
    expect(hooks).toEqual(['started', 'stopped'])
    await new Promise((resolve) => taken.close(resolve))
  })
})

describe('createLogger', () => {
  it('redacts secrets and stack texts but keeps ids', () => {
    const lines: string[] = []
    const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
    logger.info({ paymentId: 'pay_1', signature: '0xbeef', headers: { authorization: 'Bearer hunter2' } }, 'charged')
    nestLogger(logger).error(new Error('first line\nBearer hunter2'))
    expect(lines.join()).not.toMatch(/beef|hunter2/)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'charged', paymentId: 'pay_1' })
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ msg: 'first line' })
  })
})
