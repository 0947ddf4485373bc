import { FACTOR } from './shorten-rules.ts';

const STEP_S = 15;
const DAY_S = 86_400;
const WEEK_S = 7 * DAY_S;
/** Longer than a drill lasts: at its end, too, there was something "yesterday". */
const DRILL_S = 1_500;

/** Webhooks verified and stored yesterday and a week ago, in the time of the drill, and none today: as OpenMetrics text. */
export function earlierWebhooks(namespace: string, nowS = Math.floor(Date.now() / 1_000)): string {
  const pod = `namespace="${namespace}",process="ingress",pod="earlier"`;
  const first = nowS - (WEEK_S + DAY_S) / FACTOR;
  const last = nowS - DAY_S / FACTOR + DRILL_S;
  const family = (name: string, labels: string) => {
    const lines = [`# TYPE ${name} counter`];
    for (let at = first, count = 0; at < last; at += STEP_S, count += 5)
      lines.push(`${name}_total{${pod},${labels}} ${count} ${at}`);
    return lines;
  };
  return [
    // The alert counts these, and its panel those.
    ...family('hookline_key_matches', 'ref="ledger-eu",use="signing",key="0"'),
    ...family('hookline_deliveries', 'status="200",stored="kafka"'),
    '# EOF',
    '',
  ].join('\n');
}
