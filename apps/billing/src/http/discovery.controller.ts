import { Controller, Get, Query } from '@nestjs/common'
import type { JsonObject } from '@upfront/protocol'
import { Catalogue } from '../discovery/catalogue.js'
import { ResourcePage } from '../discovery/resource-page.js'
import { strictly } from './strictly.js'

/** x402's Bazaar: the resources sold through this facilitator. Public. */
@Controller()
export class DiscoveryController {
  constructor(private readonly catalogue: Catalogue) {}

  @Get(['discovery/resources', 's/:token/discovery/resources'])
  resources(@Query(strictly) page: ResourcePage): Promise<JsonObject> {
    return this.catalogue.list(page)
  }
}
