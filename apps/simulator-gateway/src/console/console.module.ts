import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import fastifyStatic from '@fastify/static'
import { type DynamicModule, Injectable, Module, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { SellerController } from './seller.controller.js'

/** Nothing from elsewhere, nothing inline, in nobody's frame; requests go to this gateway alone. */
const SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The worker that checks bills compiles the engine's module; nothing else may. */
const CHECKER_POLICY = SECURITY_POLICY.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")

/** Each has an address of its own; all are one page. */
const VIEWS = ['live', 'pay', 'seller', 'check']

/** Serves the page of `apps/console`, as its build left it. */
@Injectable()
class ConsoleFiles implements OnModuleInit {
  constructor(private readonly adapterHost: HttpAdapterHost<FastifyAdapter>) {}

  onModuleInit(): void {
    const page = createRequire(import.meta.url).resolve('@upfront/console/index.html')
    const server = this.adapterHost.httpAdapter.getInstance()
    server.register(fastifyStatic, {
      root: dirname(page),
      prefix: '/console',
      redirect: true,
      setHeaders: (response, path) => {
        const isChecker = /check-worker-[\w-]+\.js$/.test(path)
        response.setHeader('content-security-policy', isChecker ? CHECKER_POLICY : SECURITY_POLICY)
        response.setHeader('x-content-type-options', 'nosniff')
        response.setHeader('referrer-policy', 'no-referrer')
      },
    })
    for (const view of VIEWS) server.get(`/console/${view}`, (_, reply) => reply.sendFile('index.html'))
  }
}

/** `/console`: the page for people. */
@Module({ providers: [ConsoleFiles] })
export class ConsoleModule {
  /** @param imports which have to give `Environment` and JSON-RPC with its limits; `sells`: there is a ledger to show */
  static importing(sells: boolean, ...imports: DynamicModule[]): DynamicModule {
    return { module: ConsoleModule, imports, controllers: sells ? [SellerController] : [] }
  }
}
