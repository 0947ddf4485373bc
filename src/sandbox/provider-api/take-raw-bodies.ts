import type { FastifyInstance } from 'fastify';

/** Hands bodies to this plugin's handlers as they came, whatever their type says: the handlers judge both. */
export function takeRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

export const bodyOf = (request: { body: unknown }): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
