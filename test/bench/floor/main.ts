/**
 * The floor: bare Fastify that reads the same POST and gives the same answer, and does nothing else. What any receiver on
 * this HTTP stack costs at least.
 */
import fastify from 'fastify';

const ANSWER = '{"eventId":"00000000-0000-8000-8000-000000000000","stored":"kafka"}';

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.post('/webhooks/:ref', async (_request, reply) => reply.type('application/json').send(ANSWER));

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
const url = await app.listen({ host: process.env.INGRESS_HOST ?? '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`);
