import type { Clock } from '../core/clock.ts';
import { cutInHalf, DEFAULT_PIECES, sendSlowly, stallHalfway, standInFor } from './fault-bytes.ts';
import type { FaultRule } from './fault-plan.ts';

/** How an attempt ended: the receiver's status, or null and why there was none. */
export type Outcome = {
  readonly status: number | null;
  readonly error: string | null;
  readonly responseBody: string;
};

export type SendBody = (body: Buffer | AsyncIterable<Buffer>) => Promise<Outcome>;

/** Sends the body with the fault that hits this attempt. */
export async function failDelivery(
  rule: FaultRule,
  attempt: { body: Buffer; send: SendBody; clock: Clock; signal: AbortSignal },
): Promise<Outcome> {
  const { body, send, clock, signal } = attempt;
  switch (rule.kind) {
    case 'delay':
      await clock.sleep(rule.ms ?? 0, signal);
      return send(body);
    case 'drop-before':
      return lost('the connection was cut before the delivery');
    case 'drop-after':
      await send(body);
      return lost('the answer was lost');
    case 'status': {
      if (rule.effect) await send(body);
      return { status: rule.code ?? 500, error: null, responseBody: standInFor(rule)?.body ?? '' };
    }
    case 'hang':
      return send(stallHalfway(body, signal));
    case 'truncated-body':
      return send(cutInHalf(body));
    case 'slow-body':
      return send(
        sendSlowly(body, { pieces: rule.pieces ?? DEFAULT_PIECES, ms: rule.ms ?? 0, clock, signal }),
      );
    default:
      return send(body);
  }
}

const lost = (why: string): Outcome => ({
  status: null,
  error: `a fault that was asked for: ${why}`,
  responseBody: '',
});
