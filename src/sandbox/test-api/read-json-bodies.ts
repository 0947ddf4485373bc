import type { FastifyInstance } from 'fastify';
import { parseJson } from '../core/json.ts';

/** 64 MiB of a raw body, as base64, and the rest of the request. */
const CONTROL_BODY_LIMIT = 96 * 1024 * 1024;

/** Reads every body as JSON, whatever its type says, and none as `{}`: `curl -d` sends forms and nobody means them. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: CONTROL_BODY_LIMIT },
    async (_request: unknown, body: Buffer) => (body.length === 0 ? {} : parseJson(body)),
  );
  app.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
}
