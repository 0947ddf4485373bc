/** What a reader does not need: single packets. */
const NOISE = / (data|sent|connect|connected|closed|reset|refused) ?\d*( \(\d+ bytes\))?$/;
const MAX_LINES = 120;

type Told = { readonly seed: number; readonly system: object; readonly faults: readonly unknown[] };
type Outcome = { readonly violations: readonly string[]; readonly lines?: readonly string[] | undefined };

/** A schedule that broke a promise, as a person reads it: what was set up, what happened, what is wrong. */
export function tell(plan: Told, what: string, { violations, lines = [] }: Outcome): string {
  const system = Object.entries(plan.system).map(([name, value]) => `${name} ${value}`);
  const told = lines.filter((line) => !NOISE.test(line)).map(shorten);
  const shown = told.length > MAX_LINES ? [...told.slice(0, MAX_LINES), '…'] : told;
  return [
    `  seed ${plan.seed}: ${what}, ${plan.faults.length} faults`,
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
