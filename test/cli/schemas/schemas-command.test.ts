import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cli } from '../../support/cli.ts';

const REFUSAL = { error_code: 42205, message: 'Subject s is in read-only mode' };
const MISSING = { error_code: 40401, message: 'Subject not found' };

/** A registry in read-only mode, as one that copies another. */
async function readOnlyRegistry({ hasSchemas }: { hasSchemas: boolean }) {
  const server = createServer(({ method, url = '' }, response) => {
    const isLookUp = method === 'POST' && /^\/subjects\/[^/]+$/.test(url);
    const [status, answer] = isLookUp ? (hasSchemas ? [200, { id: 7 }] : [404, MISSING]) : [422, REFUSAL];
    response
      .writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
      .end(JSON.stringify(answer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { SCHEMA_REGISTRY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('hookline schemas push at a registry in read-only mode', () => {
  it('has nothing to do where every schema is registered', async () => {
    const { exitCode, out } = await cli(await readOnlyRegistry({ hasSchemas: true }), 'schemas', 'push');
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/payment-status-value +registered +7/)]);
  });

  it('says so, and calls no schema incompatible', async () => {
    const { exitCode, out, notes } = await cli(
      await readOnlyRegistry({ hasSchemas: false }),
      'schemas',
      'push',
    );
    expect([exitCode, out]).toEqual([1, '']);
    expect(notes).toContain('Subject s is in read-only mode): set its mode to READWRITE');
  });
});
