import type { FaultOperation, FaultRule } from './fault-rule.ts';

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
