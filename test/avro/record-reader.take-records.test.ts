import { describe, expect, it } from 'vitest';
import { compileCodec } from '../../src/avro/record-codec.ts';
import { createRecordReader, takeRecords } from '../../src/avro/record-reader.ts';
import { createRegistry } from '../../src/avro/registry.ts';
import type { IncomingRecord } from '../../src/core/record.ts';
import { serve } from '../support/serve.ts';

const own = compileCodec({ type: 'record', name: 'R', fields: [{ name: 'a', type: 'string' }] });
const optional = { name: 'b', type: ['null', 'string'], default: null };
const newer = compileCodec({ type: 'record', name: 'R', fields: [{ name: 'a', type: 'string' }, optional] });
const OWN = 1;
const NEWER = 2;

const incoming = (key: string | null, value: Buffer | null): IncomingRecord => ({
  topic: 't',
  partition: 3,
  offset: 7n,
  headers: {},
  timestamp: 0,
  key: key === null ? null : Buffer.from(key),
  value,
});

/** Takes records by a real registry client; the registry gives the answers in turn, the last one from then on. */
async function stage(...answers: number[]) {
  const asked: string[] = [];
  const server = await serve((request, response) => {
    asked.push(request.url ?? '');
    const status = answers.length > 1 ? answers.shift() : answers[0];
    const body = status === 200 ? { schema: newer.schema } : { error_code: 40403, message: 'as told' };
    response.writeHead(status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const registry = createRegistry({ url: server.url, timeoutMs: 5_000 });
  const stopping = new AbortController();
  const told: string[] = [];
  const code = (error: unknown) => (error as { code?: string }).code;
  const take = takeRecords({
    read: createRecordReader(own, OWN, registry),
    signal: stopping.signal,
    onRecord: (key, record) => told.push(`${key} = ${record ? String(record.a) : 'forgotten'}`),
    onUnreadable: (error, at) => told.push(`${at} passed over: ${code(error)}`),
    onAwaited: (error, at) => told.push(`${at} waits: ${code(error)}`),
  });
  return { take, told, asked, stopping, [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
}

describe("a record of one of Hookline's own topics", () => {
  it('is handed over by its key, and with null where it was forgotten', async () => {
    await using the = await stage(500);
    await the.take(incoming('x', own.encode({ a: 'one' }, OWN, 8)));
    await the.take(incoming('x', null));
    expect([the.told, the.asked]).toEqual([['x = one', 'x = forgotten'], []]);
  });

  it.each([
    ['is unavailable', 503, 'REGISTRY_UNAVAILABLE'],
    ['does not take the credentials', 401, 'REGISTRY_REFUSED'],
  ])('waits while the registry %s, and is not lost', async (_, status, code) => {
    await using the = await stage(status, status, 200);
    await the.take(incoming('x', newer.encode({ a: 'two', b: null }, NEWER, 8)));
    expect(the.told).toEqual([`t[3]@7 waits: ${code}`, 'x = two']);
  });

  it.each([
    ['has no wire format', Buffer.from('{}')],
    ['is empty', Buffer.alloc(0)],
    ['names a schema that the registry does not have', Buffer.from('00000000090000', 'hex')],
  ])('that %s is passed over, and said', async (_, value) => {
    await using the = await stage(404);
    await the.take(incoming('x', value));
    expect(the.told).toEqual(['t[3]@7 passed over: RECORD_UNREADABLE']);
  });

  it('that waits for the registry is not handed over once nobody waits for it', async () => {
    await using the = await stage(503);
    const taken = the.take(incoming('x', newer.encode({ a: 'two', b: null }, NEWER, 8)));
    the.stopping.abort();
    await expect(taken).rejects.toThrow();
    expect(the.told.filter((text) => !text.includes('waits'))).toEqual([]);
  });
});
