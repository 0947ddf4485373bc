import { describe, expect, it } from 'vitest';
import { createFaultPlan, type FaultRule } from '../../../src/sandbox/faults/fault-plan.ts';

const rule = (code: number, times: number | null, operation: FaultRule['operation'] = 'list'): FaultRule => ({
  operation,
  kind: 'status',
  code,
  times,
});

describe('the fault plan', () => {
  it('uses up the rules of an operation one after the other', () => {
    const plan = createFaultPlan();
    plan.replace([rule(500, 1), rule(429, 2), rule(503, 1, 'token')]);
    const codes = [1, 2, 3, 4].map(() => plan.take('list')?.code ?? null);
    expect(codes).toEqual([500, 429, 429, null]);
    expect(plan.take('create')).toBeNull();
    expect(plan.report().map(({ remaining, hits }) => [remaining, hits])).toEqual([
      [0, 1],
      [0, 2],
      [1, 0],
    ]);
  });

  it('keeps a rule without an end until it is cleared', () => {
    const plan = createFaultPlan();
    plan.replace([rule(500, null)]);
    for (let n = 0; n < 5; n++) expect(plan.take('list')?.code).toBe(500);
    expect(plan.report()).toMatchObject([{ remaining: null, hits: 5 }]);
    plan.clear();
    expect(plan.take('list')).toBeNull();
  });
});
