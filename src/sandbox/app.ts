import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import type { SandboxDeps } from './components.ts';
import { answerFor, SandboxError } from './core/errors.ts';
import { applyFaults } from './faults/fail-request.ts';
import { subscriptionRoutes } from './provider-api/subscription-routes.ts';
import { tokenRoutes } from './provider-api/token-routes.ts';
import { logRequests } from './test-api/request-log.ts';
import { testRoutes } from './test-api/test-routes.ts';

const PATHS =
  'POST /oauth/token, GET and POST /subscriptions, PUT and DELETE /subscription/{id}, POST /executions/replay-execution';

/** The HTTP server with the provider's API and, under `/_sandbox`, the test API. It does not listen yet. */
export function createSandboxApp(deps: SandboxDeps): FastifyInstance {
  const { options, logger } = deps;
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
    const message = `There is no ${request.method} ${request.url.split('?')[0]}. The provider's API has ${PATHS}.`;
    const { status, body } = answerFor(new SandboxError('not_found', message));
    return reply.code(status).send(body);
  });

  logRequests(app, deps);
  applyFaults(app, deps);
  const { dialect, allowHttpReceivers } = options;
  const { eventNames } = dialect;
  app.register(tokenRoutes({ tokens: deps.tokens, jwt: options.jwt }));
  app.register(subscriptionRoutes({ ...deps, dialect, allowHttpReceivers }));
  app.register(
    testRoutes({
      ...deps,
      eventNames,
      allowHttpReceivers,
      plans: {
        subscriptions: deps.subscriptions,
        eventNames,
        messages: deps.messages,
        defaultLayout: options.layout,
        now: deps.clock.wall,
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

/** A violation of a route's schema, in one sentence. */
function describeFault(fault: SchemaFault | undefined): string {
  if (!fault) return 'The body does not match its schema.';
  const field = fault.instancePath === '' ? 'The body' : fault.instancePath;
  const { additionalProperty, allowedValues } = fault.params;
  if (additionalProperty !== undefined) return `${field} has no field ${JSON.stringify(additionalProperty)}.`;
  if (Array.isArray(allowedValues)) return `${field} must be one of ${allowedValues.join(', ')}.`;
  return `${field} ${fault.message ?? 'does not match its schema'}.`;
}
