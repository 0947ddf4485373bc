import type { Clock } from '../../runtime/clock.ts';
import { DEFAULT_CHUNKS, replacementFor, sendSlowly, stall, truncate } from './fault-bytes.ts';
import type { FaultRule } from './fault-plan.ts';

/** The end of an attempt: the receiver's status, or null and the reason why there is none. */
export type Outcome = {
  readonly status: number | null;
  readonly error: string | null;
  readonly responseBody: string;
};

export type SendBody = (body: Buffer | AsyncIterable<Buffer>) => Promise<Outcome>;

/** Sends the body with the fault that applies to this attempt. */
export async function failDelivery(
  rule: FaultRule,
  attempt: { body: Buffer; send: SendBody; clock: Clock; signal: AbortSignal },
): Promise<Outcome> {
  const { body, send, clock, signal } = attempt;
  switch (rule.kind) {
    case 'delay':
      await clock.sleep(rule.ms ?? 0, { signal });
      return send(body);
    case 'drop-before':
      return lost('the connection was closed before the delivery');
    case 'drop-after':
      await send(body);
      return lost('the answer was discarded');
    case 'status': {
      if (rule.effect) await send(body);
      return { status: rule.code ?? 500, error: null, responseBody: replacementFor(rule)?.body ?? '' };
    }
    case 'hang':
      return send(stall(body, signal));
    case 'truncated-body':
      return send(truncate(body));
    case 'slow-body':
      return send(
        sendSlowly(body, { chunks: rule.pieces ?? DEFAULT_CHUNKS, ms: rule.ms ?? 0, clock, signal }),
      );
    default:
      return send(body);
  }
}

const lost = (why: string): Outcome => ({
  status: null,
  error: `injected fault: ${why}`,
  responseBody: '',
});
