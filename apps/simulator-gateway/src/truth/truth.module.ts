import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { SCORER, ScoredTruth, TruthOfScorer, workerNumber } from './scored-truth.js'
import { TruthController } from './truth.controller.js'
import { TruthRunner } from './truth-runner.js'
import { TruthScore } from './truth-score.js'

/** Predictions and their scores, for `TRUTH_SCORE=on`. Of several worker processes one scores for all. */
@Module({ controllers: [TruthController] })
export class TruthModule {
  /** @param imports must export `Environment`, `LOGGER`, `Metrics`, JSON-RPC with its limits, and the simulator */
  static importing(...imports: DynamicModule[]): DynamicModule {
    const scores = (workerNumber() ?? SCORER) === SCORER
    const providers: Provider[] = scores
      ? [TruthRunner, TruthScore, { provide: ScoredTruth, useExisting: TruthScore }]
      : [{ provide: ScoredTruth, useClass: TruthOfScorer }]
    return { module: TruthModule, imports, providers }
  }
}
