import { parse, stringify } from 'yaml';

/** Five minutes become ten seconds: a drill through every alert then takes minutes, with each comparison as it is. */
export const FACTOR = 30;
/** Below this a range holds too few scrapes, one a second, to see a rate by. */
const LEAST_RANGE_S = 10;
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;

type Rule = { alert?: string; record?: string; expr: string; for?: string; keep_firing_for?: string };
type Rules = { groups: { name: string; rules: Rule[] }[] };

/** The very rules that are shipped, with each stretch of time shortened, and nothing else. */
export function shortenRules(text: string): string {
  const { groups }: Rules = parse(text);
  const shortened = groups.map((group) => ({ ...group, rules: group.rules.map(shortenRule) }));
  return stringify({ groups: shortened });
}

function shortenRule(rule: Rule): Rule {
  const expr = rule.expr
    .replaceAll(/\[(\d+[smhdw])\]/g, (_, range: string) => `[${shorten(range, LEAST_RANGE_S)}]`)
    .replaceAll(/\boffset (\d+[smhdw])\b/g, (_, offset: string) => `offset ${shorten(offset)}`)
    // An age in seconds: the only numbers of three digits and more that something is compared with.
    .replaceAll(/([<>]=?) (\d{3,})\b/g, (_, sign: string, age: string) => `${sign} ${Number(age) / FACTOR}`);
  const waits = { for: rule.for, keep_firing_for: rule.keep_firing_for };
  const shorter = Object.entries(waits).flatMap(([name, wait]) => (wait ? [[name, shorten(wait)]] : []));
  return { ...rule, expr, ...Object.fromEntries(shorter) };
}

function shorten(duration: string, least = 1): string {
  const seconds = Number.parseInt(duration, 10) * SECONDS[duration.at(-1) as keyof typeof SECONDS];
  return `${Math.max(least, Math.ceil(seconds / FACTOR))}s`;
}
