import type { Json } from '../core/json.ts';
import { OPERATIONS, type Operation } from '../core/operations.ts';

export type FaultPlan = ReturnType<typeof createFaultPlan>;
export type FaultReport = FaultRule & { readonly remaining: number | null; readonly hits: number };

/** The planned faults. For each operation the first rule with hits left applies. */
export function createFaultPlan() {
  let entries: { rule: FaultRule; hits: number }[] = [];
  const remaining = ({ rule, hits }: { rule: FaultRule; hits: number }) =>
    rule.times === null ? null : rule.times - hits;

  return {
    replace(rules: readonly FaultRule[]): void {
      entries = rules.map((rule) => ({ rule, hits: 0 }));
    },
    /** The fault for this request or attempt, counted as a hit; null where there is none. */
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
 * The kinds of faults, the fields of their rules, and where they apply. The "effect" of an operation is that it is
 * executed, that of a delivery that the receiver gets it.
 */
export const FAULT_KINDS = {
  /** A status instead of the real one; without effect unless `effect` is true. */
  status: { needs: ['code'], takes: ['headers', 'body', 'effect'], on: 'both' },
  /** Waits `ms`, then continues as usual, even if the caller has closed the connection by then. */
  delay: { needs: ['ms'], takes: [], on: 'both' },
  /** Never answers; a delivery never sends the second half of the body. */
  hang: { needs: [], takes: ['effect'], on: 'both' },
  /** Closes the connection before the operation has its effect. */
  'drop-before': { needs: [], takes: [], on: 'both' },
  /** Closes the connection after the operation has had its effect. */
  'drop-after': { needs: [], takes: [], on: 'both' },
  /** Half of the real answer (or of the delivery's body), then the connection closes. */
  'truncated-body': { needs: [], takes: [], on: 'both' },
  /** The real answer (or the delivery's body) in `pieces` chunks, `ms` between them. */
  'slow-body': { needs: ['ms'], takes: ['pieces'], on: 'both' },
  redirect: { needs: [], takes: ['code', 'location', 'effect'], on: 'api' },
  /** The real answer as malformed JSON. */
  'malformed-json': { needs: [], takes: [], on: 'api' },
  /** The login page of a proxy. */
  'html-200': { needs: [], takes: ['effect'], on: 'api' },
  /** The real answer with fields set or removed by JSON pointers. */
  alter: { needs: [], takes: ['set', 'remove'], on: 'api' },
} as const satisfies Record<string, { needs: Field[]; takes: Field[]; on: 'both' | 'api' }>;

type FaultKind = keyof typeof FAULT_KINDS;

export type FaultRule = FaultFields & {
  readonly operation: FaultOperation;
  readonly kind: FaultKind;
  /** How many requests or attempts it applies to; null: until it is cleared. */
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

/** Why a rule is invalid beyond the types of its fields, or null. */
export function invalidRule(rule: FaultRule): string | null {
  const { needs, takes, on }: { needs: readonly string[]; takes: readonly string[]; on: string } =
    FAULT_KINDS[rule.kind];
  if (on === 'api' && rule.operation === 'delivery') return `${rule.kind} does not apply to deliveries`;
  const missing = needs.find((field) => !Object.hasOwn(rule, field));
  if (missing !== undefined) return `${rule.kind} needs ${missing}`;
  const known = ['operation', 'kind', 'times', ...needs, ...takes];
  const strange = Object.keys(rule).find((field) => !known.includes(field));
  if (strange !== undefined) return `${rule.kind} does not take ${strange}`;
  if (rule.operation === 'delivery' && rule.kind === 'hang' && rule.effect) {
    return 'hang has no effect on a delivery: leave out effect';
  }
  return null;
}
