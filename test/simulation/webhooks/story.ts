import type { Plan } from './plan.ts';
import type { Outcome } from './run-plan.ts';

/** What a reader does not need: single packets. */
const NOISE = / (data|sent|connect|connected|closed|reset|refused) ?\d*( \(\d+ bytes\))?$/;
const MAX_LINES = 120;

/** A schedule that broke a promise, as a person reads it: what was set up, what happened, what is wrong. */
export function tell(plan: Plan, { violations, lines = [] }: Outcome): string {
  const system = Object.entries(plan.system).map(([name, value]) => `${name} ${value}`);
  const told = lines.filter((line) => !NOISE.test(line)).map(shorten);
  const shown = told.length > MAX_LINES ? [...told.slice(0, MAX_LINES), '…'] : told;
  return [
    `  seed ${plan.seed}: ${plan.webhooks.length} webhooks, ${plan.faults.length} faults`,
    `  system: ${system.join(', ')}`,
    ...shown.map((line) => `    ${line}`),
    ...violations.map((line) => `  BROKEN: ${line}`),
    `  plan: ${JSON.stringify(plan)}`,
  ].join('\n');
}

/** The time in milliseconds, and no more digits than a reader needs. */
const shorten = (line: string): string => {
  const [at = '', ...rest] = line.split(' ');
  return `${Number(at).toFixed(1).padStart(9)}  ${rest.join(' ')}`;
};
