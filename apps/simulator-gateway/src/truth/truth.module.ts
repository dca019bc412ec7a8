import { type DynamicModule, Module } from '@nestjs/common'
import { TruthController } from './truth.controller.js'
import { TruthRunner } from './truth-runner.js'
import { TruthScore } from './truth-score.js'

/** Predictions, and what became of them: where `TRUTH_SCORE` is on. */
@Module({ controllers: [TruthController], providers: [TruthRunner, TruthScore] })
export class TruthModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Metrics`, JSON-RPC with its limits and what simulates */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: TruthModule, imports }
  }
}
