/**
 * The naive reference: what a team would honestly write in a day, with the usual libraries as their guides show them.
 * It verifies, opens, encodes and answers 200 when `send` resolves. It has no deliberate fault.
 */
import { randomUUID } from 'node:crypto';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import fastify from 'fastify';
import kafkajs from 'kafkajs';
import { readConfig } from './config.ts';
import { isSigned, unseal } from './open-body.ts';

const EVENT_SCHEMA = {
  type: 'record',
  name: 'PaymentEvent',
  namespace: 'naive',
  fields: [
    { name: 'eventId', type: 'string' },
    { name: 'type', type: 'string' },
    { name: 'entityId', type: 'string' },
    { name: 'subscription', type: 'string' },
    { name: 'receivedAt', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'source', type: 'string' },
  ],
};

const { brokers, registryUrl, topicPrefix, secrets, host, port, idempotent } = readConfig(process.env);

const registry = new SchemaRegistry({ host: registryUrl });
const schema = { type: SchemaType.AVRO, schema: JSON.stringify(EVENT_SCHEMA) } as const;
const { id: schemaId } = await registry.register(schema, { subject: `${topicPrefix}.naive-value` });

const kafka = new kafkajs.Kafka({ clientId: 'naive-receiver', brokers, logLevel: kafkajs.logLevel.NOTHING });
const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false, createPartitioner });
await producer.connect();

const app = fastify({ bodyLimit: 50 * 1024 * 1024 });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post<{ Params: { ref: string }; Body: Buffer }>('/webhooks/:ref', async (request, reply) => {
  const { params, body, headers } = request;
  const secret = secrets.get(params.ref);
  if (!secret || !isSigned(secret, headers['x-signature-sha256'], body)) {
    return reply.code(401).send({ error: 'unauthentic' });
  }
  const isSealed = headers['content-type'] === 'application/octet-stream';
  const message = isSealed ? unseal(secret, body) : body;
  const { type, entityId } = JSON.parse(message.toString()) as { type: string; entityId: string };
  const event = {
    eventId: randomUUID(),
    type,
    entityId,
    subscription: params.ref,
    receivedAt: Date.now(),
    source: message.toString(),
  };
  const value = await registry.encode(schemaId, event);
  const topic = `${topicPrefix}.${type}`;
  await producer.send({ topic, acks: -1, messages: [{ key: entityId, value }] });
  return { eventId: event.eventId };
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, async () => {
    await app.close();
    await producer.disconnect();
    process.exit(0);
  });
}

const url = await app.listen({ host, port });
process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`);
