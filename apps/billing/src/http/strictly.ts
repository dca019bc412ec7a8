import { ValidationPipe } from '@nestjs/common'
import { BillingError } from '../payments/billing-error.js'

/** For queries: refuses what is not known, and names what is wrong. */
export const strictly = new ValidationPipe({
  transform: true,
  whitelist: true,
  forbidNonWhitelisted: true,
  exceptionFactory: ([first]) => {
    const message = Object.values(first?.constraints ?? {})[0] ?? 'the query is not valid'
    const unknown = first?.constraints?.whitelistValidation !== undefined
    return new BillingError('invalid_request', unknown ? `${first?.property}: is not known` : message, first?.property)
  },
})
