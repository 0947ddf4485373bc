import type { HooklineError } from '../core/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { TokenObserver, TokenUse } from './token-source.ts';

const USES = ['kafka', 'registry'] as const satisfies readonly TokenUse[];

type Seen = { obtained: number; failed: number; endsAt: number | undefined };

/** One log line per change, and counts, which go into the metrics of `report` from then on. */
export function observeTokens(logger: Logger): Readonly<Record<TokenUse, TokenObserver>> & {
  report(metrics: Metrics): void;
} {
  const seen: Record<TokenUse, Seen> = {
    kafka: { obtained: 0, failed: 0, endsAt: undefined },
    registry: { obtained: 0, failed: 0, endsAt: undefined },
  };
  const observe = (use: TokenUse): TokenObserver => {
    const own = seen[use];
    let trouble = '';
    return {
      obtained(endsAt) {
        own.obtained++;
        own.endsAt = endsAt;
        if (trouble !== '') logger.info({ use }, 'access tokens can be obtained again');
        trouble = '';
      },
      failed(error: HooklineError) {
        own.failed++;
        if (error.message !== trouble) logger.warn({ use, err: error }, 'no access token can be obtained');
        trouble = error.message;
      },
    };
  };
  return {
    kafka: observe('kafka'),
    registry: observe('registry'),
    report(metrics) {
      const own = tokenMetrics(metrics);
      const counted = { kafka: { obtained: 0, failed: 0 }, registry: { obtained: 0, failed: 0 } };
      metrics.samplers.add(() => {
        for (const use of USES) {
          const { obtained, failed, endsAt } = seen[use];
          // Processes that show no tokens have no such series.
          if (obtained + failed === 0) continue;
          own.tokenRequests.inc({ use, outcome: 'obtained' }, obtained - counted[use].obtained);
          own.tokenRequests.inc({ use, outcome: 'failed' }, failed - counted[use].failed);
          counted[use] = { obtained, failed };
          if (endsAt !== undefined) own.tokenEnds.set({ use }, endsAt / 1_000);
        }
      });
    },
  };
}

/** Access tokens for the brokers and the schema registry. */
export const tokenMetrics = (metrics: Metrics) => ({
  tokenRequests: metrics.counter({
    name: 'hookline_access_token_requests_total',
    help: 'Access tokens for the brokers (kafka) and the schema registry (registry): obtained, or failed to',
    labels: ['use', 'outcome'],
  }),
  tokenEnds: metrics.gauge({
    name: 'hookline_access_token_end_timestamp_seconds',
    help: 'When the access token in use ends, in seconds since 1970; absent where it does not say',
    labels: ['use'],
  }),
});
