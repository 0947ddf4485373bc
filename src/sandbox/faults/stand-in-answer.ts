import type { FaultRule } from './fault-plan.ts';

export type StandIn = { status: number; headers: Record<string, string>; body: string };

/** The answer that a fault gives in the place of the real one; null for faults that don't answer by themselves. */
export function standInFor(rule: FaultRule): StandIn | null {
  switch (rule.kind) {
    case 'status': {
      const body = rule.body ?? { error: 'sandbox_fault', message: 'A fault that was asked for.' };
      const text = typeof body === 'string';
      return {
        status: rule.code ?? 500,
        headers: { 'content-type': text ? 'text/plain' : 'application/json', ...lowerCase(rule.headers) },
        body: text ? body : JSON.stringify(body),
      };
    }
    case 'redirect':
      return {
        status: rule.code ?? 307,
        headers: { location: rule.location ?? '/redirected-by-the-sandbox' },
        body: '',
      };
    case 'html-200':
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<!doctype html><title>Sign in</title><p>Please sign in to continue.</p>',
      };
    default:
      return null;
  }
}

const lowerCase = (headers: FaultRule['headers']) =>
  Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
