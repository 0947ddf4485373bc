import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { postSigned } from '../support/sign.ts';
import { ROOT } from '../support/source-tree.ts';
import { Fixture } from '../support/topics-fixture.ts';

const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
  fixture.secrets('eu', { 'subscription-id': keys.subscriptionId, 'signing-secret': keys.signingSecret });
});

afterAll(() => fixture[Symbol.asyncDispose]());

// Kubernetes renews the files of a ConfigMap in running pods, and an operator changes them before the restart.
it('also for large bodies, whose thread starts with the first of them', async () => {
  const schemas = join(fixture.dir, 'schemas');
  cpSync(join(ROOT, 'schemas'), schemas, { recursive: true });
  const ingress = await fixture.ingress({ SCHEMAS_DIR: schemas });
  const path = join(schemas, 'events/payment-status.avsc');
  const schema = JSON.parse(readFileSync(path, 'utf8'));
  const at = schema.fields.findIndex(({ name }: { name: string }) => name === 'status');
  const note = { name: 'note', type: ['null', 'string'], default: null, pointer: '/payload/note' };
  schema.fields.splice(at, 0, note);
  writeFileSync(path, JSON.stringify(schema));

  const payload = { status: 'ACCC', note: 'n', filler: 'x'.repeat(2e6) };
  const body = JSON.stringify({ type: 'payment-status', entityId: 'e-1', payload });
  expect((await postSigned(`${ingress.url}/webhooks/eu`, keys, body)).status).toBe(200);
  const [stored] = await fixture.read('payment-status');
  expect(stored?.record).toMatchObject({ entityId: 'e-1', status: 'ACCC' });
  expect(stored?.record?.source === body).toBe(true);
});
