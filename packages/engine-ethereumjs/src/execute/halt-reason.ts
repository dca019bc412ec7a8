import type { ExecResult } from '@ethereumjs/evm'

/** Why a frame halted, in geth's words. `deployed` is the constructor's own result where a deployment failed after it. */
export function haltReason(result: ExecResult, deployed?: ExecResult): string {
  return deployed && !deployed.exceptionError
    ? 'contract creation code storage out of gas'
    : (result.exceptionError?.error ?? '')
}
