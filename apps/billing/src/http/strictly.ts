import { ValidationPipe } from '@nestjs/common'
import { BillingError } from '../payments/billing-error.js'

/** Validates queries: rejects unknown parameters and names the invalid one. */
export const strictly = new ValidationPipe({
  transform: true,
  whitelist: true,
  forbidNonWhitelisted: true,
  exceptionFactory: ([first]) => {
    const message = Object.values(first?.constraints ?? {})[0] ?? 'the query is not valid'
    const unknown = first?.constraints?.whitelistValidation !== undefined
    return new BillingError(
      'invalid_request',
      unknown ? `${first?.property}: unknown parameter` : message,
      first?.property,
    )
  },
})
