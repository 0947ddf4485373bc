import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import type { SandboxDeps } from './components.ts';
import { answerFor, SandboxError } from './core/errors.ts';
import { applyFaults } from './faults/fail-request.ts';
import { subscriptionRoutes } from './provider-api/subscription-routes.ts';
import { tokenRoutes } from './provider-api/token-routes.ts';
import { logRequests } from './test-api/request-log.ts';
import { controlRoutes } from './test-api/test-routes.ts';

const PATHS =
  'POST /oauth/token, GET and POST /subscriptions, PUT and DELETE /subscription/{id}, POST /executions/replay-execution';

/** The provider's HTTP side, and the sandbox's own under `/_sandbox`. It doesn't listen yet. */
export function createSandboxApp(parts: SandboxDeps): FastifyInstance {
  const { options, logger } = parts;
  const app = fastify({
    logger: false,
    bodyLimit: 1024 * 1024,
    requestTimeout: 60_000,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allowUnionTypes: true } },
    schemaErrorFormatter: (errors) => new SandboxError('invalid_request', describeFault(errors[0])),
    frameworkErrors: (error, _request, reply) => {
      const { status, body } = answerFor(error);
      void (reply as FastifyReply).code(status).send(body);
    },
  });
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = answerFor(error);
    if (status >= 500) logger.error({ err: error }, 'request failed');
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${request.url.split('?')[0]}. The service has ${PATHS}.`;
    const { status, body } = answerFor(new SandboxError('not_found', message));
    return reply.code(status).send(body);
  });

  logRequests(app, parts);
  applyFaults(app, parts);
  const { dialect, allowHttpReceivers } = options;
  const { eventNames } = dialect;
  app.register(tokenRoutes({ tokens: parts.tokens, rules: options }));
  app.register(subscriptionRoutes({ ...parts, dialect, allowHttpReceivers }));
  app.register(
    controlRoutes({
      ...parts,
      eventNames,
      allowHttpReceivers,
      plans: {
        subscriptions: parts.subscriptions,
        eventNames,
        messages: parts.messages,
        defaultLayout: options.layout,
        now: parts.clock.now,
      },
    }),
  );
  return app;
}

type SchemaFault = {
  instancePath: string;
  keyword: string;
  params: Record<string, unknown>;
  message?: string;
};

function describeFault(fault: SchemaFault | undefined): string {
  if (!fault) return 'The body does not fit.';
  const place = fault.instancePath === '' ? 'The body' : fault.instancePath;
  const { additionalProperty, allowedValues } = fault.params;
  if (additionalProperty !== undefined) return `${place} has no field ${JSON.stringify(additionalProperty)}.`;
  if (Array.isArray(allowedValues)) return `${place} must be one of ${allowedValues.join(', ')}.`;
  return `${place} ${fault.message ?? 'does not fit'}.`;
}
