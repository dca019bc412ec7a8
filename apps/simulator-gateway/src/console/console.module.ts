import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import fastifyStatic from '@fastify/static'
import { type DynamicModule, Injectable, Module, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { SellerController } from './seller.controller.js'

/** No external or inline content, no framing; requests only to this gateway. */
const SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** For the worker that checks bills: it alone may compile WebAssembly (the engine's module). */
const CHECKER_POLICY = SECURITY_POLICY.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")

/** Views of the one page; each has its own path. */
const VIEWS = ['live', 'pay', 'seller', 'check']

/** Serves the built page of `apps/console`. */
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

/** `/console`: the web page. */
@Module({ providers: [ConsoleFiles] })
export class ConsoleModule {
  /** @param sells whether there is a ledger to show; `imports` export `Environment` and JSON-RPC with its limits */
  static importing(sells: boolean, ...imports: DynamicModule[]): DynamicModule {
    return { module: ConsoleModule, imports, controllers: sells ? [SellerController] : [] }
  }
}
