import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import { POINTER_PATTERN } from '../core/json.ts';
import {
  FAULT_KINDS,
  FAULT_OPERATIONS,
  type FaultPlan,
  type FaultRule,
  invalidRule,
} from '../faults/fault-plan.ts';

const POINTER = { type: 'string', pattern: POINTER_PATTERN };
/** RFC 9110, section 5: no other name can be sent. */
const HEADER_NAME = { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" };
const HEADER_TEXT = { type: 'string', pattern: '^[\\t\\x20-\\x7e]*$' };

const RULES_SCHEMA = {
  type: 'array',
  maxItems: 1000,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['operation', 'kind'],
    properties: {
      operation: { enum: FAULT_OPERATIONS },
      kind: { enum: Object.keys(FAULT_KINDS) },
      times: { type: ['integer', 'null'], minimum: 1, default: 1 },
      code: { type: 'integer', minimum: 200, maximum: 599 },
      headers: { type: 'object', propertyNames: HEADER_NAME, additionalProperties: HEADER_TEXT },
      body: {},
      ms: { type: 'integer', minimum: 0, maximum: 600_000 },
      pieces: { type: 'integer', minimum: 1, maximum: 10_000 },
      location: HEADER_TEXT,
      effect: { type: 'boolean' },
      set: { type: 'object', propertyNames: POINTER },
      remove: { type: 'array', items: POINTER },
    },
  },
} as const;

/** `/_sandbox/faults`: PUT replaces the rules, GET shows them with their hits, DELETE clears them. */
export function faultRoutes(app: FastifyInstance, deps: { faults: FaultPlan }): void {
  app.get('/_sandbox/faults', async () => deps.faults.report());

  app.put<{ Body: FaultRule[] }>(
    '/_sandbox/faults',
    { schema: { body: RULES_SCHEMA } },
    async ({ body: rules }) => {
      for (const [i, rule] of rules.entries()) {
        const fault = invalidRule(rule);
        if (fault) throw new SandboxError('invalid_request', `Rule ${i}: ${fault}.`);
      }
      deps.faults.replace(rules);
      return deps.faults.report();
    },
  );

  app.delete('/_sandbox/faults', async (_request, reply) => {
    deps.faults.clear();
    return reply.code(204).send();
  });
}
