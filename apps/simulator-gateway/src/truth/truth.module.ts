import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { placeOfWorker, SCORER, ScoredTruth, TruthOfScorer } from './scored-truth.js'
import { TruthController } from './truth.controller.js'
import { TruthRunner } from './truth-runner.js'
import { TruthScore } from './truth-score.js'

/** Predictions, and what became of them: where `TRUTH_SCORE` is on. One of several processes scores for all. */
@Module({ controllers: [TruthController] })
export class TruthModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Metrics`, JSON-RPC with its limits and what simulates */
  static importing(...imports: DynamicModule[]): DynamicModule {
    const scores = (placeOfWorker() ?? SCORER) === SCORER
    const providers: Provider[] = scores
      ? [TruthRunner, TruthScore, { provide: ScoredTruth, useExisting: TruthScore }]
      : [{ provide: ScoredTruth, useClass: TruthOfScorer }]
    return { module: TruthModule, imports, providers }
  }
}
