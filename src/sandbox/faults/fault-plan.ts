import type { Json } from '../core/json.ts';
import { OPERATIONS, type Operation } from '../core/operations.ts';

export type FaultPlan = ReturnType<typeof createFaultPlan>;
export type FaultReport = FaultRule & { readonly remaining: number | null; readonly hits: number };

/** The faults that are to happen. Of an operation's rules the first that has hits left is taken. */
export function createFaultPlan() {
  let entries: { rule: FaultRule; hits: number }[] = [];
  const remaining = ({ rule, hits }: { rule: FaultRule; hits: number }) =>
    rule.times === null ? null : rule.times - hits;

  return {
    replace(rules: readonly FaultRule[]): void {
      entries = rules.map((rule) => ({ rule, hits: 0 }));
    },
    /** The fault that hits this request or attempt, which thereby counts; null where none does. */
    take(operation: FaultOperation): FaultRule | null {
      const entry = entries.find((one) => one.rule.operation === operation && remaining(one) !== 0);
      if (!entry) return null;
      entry.hits += 1;
      return entry.rule;
    },
    report: (): FaultReport[] =>
      entries.map((entry) => ({ ...entry.rule, remaining: remaining(entry), hits: entry.hits })),
    clear(): void {
      entries = [];
    },
  };
}

export const FAULT_OPERATIONS = [...OPERATIONS, 'delivery'] as const;
type FaultOperation = Operation | 'delivery';

/**
 * What can go wrong, on which side, and which fields of a rule say how. On an operation the "effect" is that it is
 * carried out, on a delivery that the receiver gets it.
 */
export const FAULT_KINDS = {
  /** Another status than the real one; without effect unless `effect` is true. */
  status: { needs: ['code'], takes: ['headers', 'body', 'effect'], on: 'both' },
  /** Waits `ms`, then goes on as ever, even if the caller is gone by then. */
  delay: { needs: ['ms'], takes: [], on: 'both' },
  /** Never answers; on a delivery: never sends the second half of the body. */
  hang: { needs: [], takes: ['effect'], on: 'both' },
  /** The connection is cut and nothing has happened. */
  'drop-before': { needs: [], takes: [], on: 'both' },
  /** It happens, and the answer is lost. */
  'drop-after': { needs: [], takes: [], on: 'both' },
  /** Half of the real answer, then the connection is cut; on a delivery: half of the body. */
  'truncated-body': { needs: [], takes: [], on: 'both' },
  /** The real answer (or the delivery's body) in `pieces`, `ms` between them. */
  'slow-body': { needs: ['ms'], takes: ['pieces'], on: 'both' },
  redirect: { needs: [], takes: ['code', 'location', 'effect'], on: 'api' },
  /** The real answer, made unreadable. */
  'malformed-json': { needs: [], takes: [], on: 'api' },
  /** A login page of some proxy. */
  'html-200': { needs: [], takes: ['effect'], on: 'api' },
  /** The real answer with fields set or removed, by JSON pointers. */
  alter: { needs: [], takes: ['set', 'remove'], on: 'api' },
} as const satisfies Record<string, { needs: Field[]; takes: Field[]; on: 'both' | 'api' }>;

type FaultKind = keyof typeof FAULT_KINDS;

export type FaultRule = FaultFields & {
  readonly operation: FaultOperation;
  readonly kind: FaultKind;
  /** How many requests or attempts it hits; null: until it is cleared. */
  readonly times: number | null;
};

type FaultFields = {
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly ms?: number;
  readonly pieces?: number;
  readonly location?: string;
  readonly effect?: boolean;
  readonly set?: Readonly<Record<string, Json>>;
  readonly remove?: readonly string[];
};
type Field = keyof FaultFields;

/** What is wrong with a rule beyond its fields' types, or null. */
export function faultOfRule(rule: FaultRule): string | null {
  const { needs, takes, on }: { needs: readonly string[]; takes: readonly string[]; on: string } =
    FAULT_KINDS[rule.kind];
  if (on === 'api' && rule.operation === 'delivery') return `${rule.kind} is no fault of a delivery`;
  const missing = needs.find((field) => !Object.hasOwn(rule, field));
  if (missing !== undefined) return `${rule.kind} needs ${missing}`;
  const known = ['operation', 'kind', 'times', ...needs, ...takes];
  const strange = Object.keys(rule).find((field) => !known.includes(field));
  if (strange !== undefined) return `${rule.kind} takes no ${strange}`;
  if (rule.operation === 'delivery' && rule.kind === 'hang' && rule.effect) {
    return 'a delivery that hangs has no effect';
  }
  return null;
}
