import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandSchemasIn } from '../../src/avro/command-schemas.ts';
import { createRecordReader } from '../../src/avro/record-reader.ts';
import { createRegistry } from '../../src/avro/registry.ts';
import { createCommandReader, readCommand } from '../../src/control/read-command.ts';
import { HooklineError } from '../../src/core/errors.ts';
import type { IncomingRecord } from '../../src/core/record.ts';
import { serve } from '../support/serve.ts';

const { codec } = commandSchemasIn(undefined).command;
const OWN = 258;

const incoming = (value: Buffer | string | null): IncomingRecord => ({
  topic: 'payments.commands',
  partition: 0,
  offset: 0n,
  key: null,
  headers: {},
  timestamp: 0,
  value: typeof value === 'string' ? Buffer.from(value) : value,
});

/** Reads by a registry that answers every question so. */
async function read(value: Buffer | string | null, status = 404) {
  const body = JSON.stringify({ error_code: status * 100, message: 'as told' });
  await using server = await serve((_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
  const registry = createRegistry({ url: server.url, timeoutMs: 5_000 });
  return await readCommand(incoming(value), createRecordReader(codec, OWN, registry));
}

const avro = (fields: object) =>
  codec.encode(
    {
      commandId: 'c-1',
      type: 'subscription.create',
      ref: 'a',
      events: null,
      executionIds: null,
      extra: null,
      issuedBy: null,
      issuedAt: null,
      expiresAt: null,
      dryRun: false,
      ...fields,
    },
    OWN,
    64,
  );

describe('a record of a command topic', () => {
  it('is the same command as JSON and as Avro', async () => {
    const fields = { ref: 'b', events: ['payment_status'], extra: '{"n":1}', expiresAt: 1_795_245_881_505 };
    const json = { commandId: 'c-1', type: 'subscription.create', ...fields, extra: { n: 1 } };
    expect(await read(avro(fields))).toEqual(await read(JSON.stringify(json)));
    expect(await read(avro(fields))).toMatchObject({ ok: true, command: { ref: 'b', extra: { n: 1 } } });
  });

  it.each([
    ['nothing', null],
    ['no byte', ''],
    ['text', 'create a subscription'],
    ['a list', '[{"commandId":"c-1"}]'],
    ['space before the brace', ' {"commandId":"c-1"}'],
    ['a byte order mark', '\ufeff{"commandId":"c-1"}'],
    ['bytes of another serialiser', Buffer.from('0a0463316c64', 'hex')],
    ['a compressed body', Buffer.from('1f8b0800', 'hex')],
    ['JSON that ends within its id', '{"commandId":"c-1'],
    ['JSON whose id is not UTF-8', Buffer.from('{"commandId":"c-1\xe9"}', 'latin1')],
    ['JSON with the id behind the fault', '{"issuedBy":x,"commandId":"c-1"}'],
    ['broken JSON whose id is that of an object within it', '{"extra":{"commandId":"c-1"'],
    ['a byte of zero and no more', Buffer.from([0])],
    ['an unknown schema', Buffer.from('000000000700', 'hex')],
    ['Avro that ends within its id', avro({}).subarray(0, 8)],
  ])('of %s is no command, and nobody can be answered', async (_, value) => {
    expect(await read(value)).toMatchObject({
      ok: false,
      reason: { code: 'COMMAND_INVALID' },
      commandId: null,
      fields: {},
    });
  });

  it.each([
    ['JSON', JSON.stringify({ commandId: 'c-1', type: 'x' })],
    ['Avro', avro({ type: 'x' })],
    ['Avro that ends too soon', Buffer.concat([avro({ type: 'x' }).subarray(0, 11), Buffer.from([2])])],
    [
      'Avro that claims 2^30 events',
      Buffer.concat([avro({ type: 'x' }).subarray(0, 11), Buffer.from('000280808080080a', 'hex')]),
    ],
    ['JSON of too many values', `{"commandId":"c-1","events":[${'1,'.repeat(20_000)}1],"type":"x"}`],
    [
      'JSON that is too deep',
      `{"type":"x","extra":${'['.repeat(500_000)}${']'.repeat(500_000)},"commandId":"c-1"}`,
    ],
  ])('in %s that can be read so far as its id is answered under it', async (_, value) => {
    expect(await read(value)).toMatchObject({ ok: false, commandId: 'c-1', fields: { type: 'x' } });
  });

  it.each([
    ['has something behind its end', '{"commandId":"c-1","type":"x"} x'],
    ['is cut off within a value', '{"commandId":"c-1","type":"x","ref":"led'],
    ['is cut off behind a value', '{"commandId":"c-1","type":"x"'],
    ['has a comma before its end', '{"commandId":"c-1","type":"x",}'],
    ['is not UTF-8', Buffer.from('{"commandId":"c-1","type":"x","issuedBy":"\xe9"}', 'latin1')],
    ['has too many values, and no end', `{"commandId":"c-1","type":"x","events":[${'1,'.repeat(20_000)}1]`],
  ])('in JSON that %s is answered under the id that comes before the fault', async (_, value) => {
    expect(await read(value)).toMatchObject({
      ok: false,
      commandId: 'c-1',
      fields: { type: 'x' },
      reason: { code: 'COMMAND_INVALID', message: expect.stringContaining('malformed JSON') },
    });
  });

  it('of too many values is answered under its id', async () => {
    expect(await read(avro({ events: Array(10_000).fill('e') }))).toMatchObject({
      ok: false,
      commandId: 'c-1',
    });
    expect(await read(avro({ extra: `{"a":[${'1,'.repeat(20_000)}1]}` }))).toMatchObject({
      ok: false,
      commandId: 'c-1',
    });
  });

  it.each(['issuedAt', 'expiresAt'])(
    'in Avro whose %s no number holds is told by that field',
    async (field) => {
      const value = avro({ [field]: 2 ** 52 });
      // The last of its eight bytes has the highest bits: three times as much.
      value[value.indexOf(Buffer.from('8080808080808010', 'hex')) + 7] = 0x30;
      expect(await read(value)).toMatchObject({
        ok: false,
        commandId: 'c-1',
        reason: {
          code: 'COMMAND_INVALID',
          message: expect.stringContaining(`${field}: a number beyond 2^53 - 1`),
        },
      });
    },
  );

  it.each([
    [503, 'REGISTRY_UNAVAILABLE'],
    [401, 'REGISTRY_REFUSED'],
  ])(
    'that only the registry (%i) keeps from being read is no poison: it comes again',
    async (status, code) => {
      await expect(read(Buffer.from('000000000700', 'hex'), status)).rejects.toMatchObject({ code });
    },
  );

  it('of any bytes is a command or a refusal, and throws nothing', async () => {
    const reader = createRecordReader(codec, OWN, {
      writerType: () => Promise.reject(new HooklineError('SCHEMA_NOT_REGISTERED')),
    } as never);
    const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
    const ownAvro = bytes.map((tail) => Buffer.concat([Buffer.from('0000000102', 'hex'), tail]));
    const json = fc.json().map((text) => Buffer.from(`{"commandId":"c-1","extra":${text}}`));
    const spoilt = fc.tuple(fc.nat(200), fc.nat(255)).map(([place, byte]) => {
      const value = Buffer.from(avro({ events: ['payment_status'], extra: '{"a":1}' }));
      value.writeUInt8(byte, place % value.length);
      return value;
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes, ownAvro, json, spoilt), async (value) => {
        const command = await readCommand(incoming(value), reader);
        if (!command.ok)
          expect(command.reason).toMatchObject({ code: 'COMMAND_INVALID', result: 'REJECTED' });
      }),
      { numRuns: 500 },
    );
  });
});

it('is read once of each small record, and again where the registry could not be asked', async () => {
  let asked = 0;
  let isUnreadable = false;
  const reader = createCommandReader(async () => {
    if (++asked === 1) throw new HooklineError('REGISTRY_UNAVAILABLE');
    if (isUnreadable) throw new HooklineError('RECORD_UNREADABLE');
    return { commandId: 'c', type: 'subscription.list' };
  });
  const record = incoming(Buffer.from('0000000001', 'hex'));
  await expect(reader(record)).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  expect(await reader(record)).toBe(await reader(record));
  expect(asked).toBe(2);
  await reader(incoming(record.value));
  expect(asked).toBe(3);
  const large = incoming(Buffer.concat([record.value as Buffer, Buffer.alloc(4_096)]));
  await reader(large);
  await reader(large);
  expect(asked).toBe(5);
  // Its schema may be registered before its turn comes.
  const early = incoming(record.value);
  isUnreadable = true;
  expect((await reader(early)).ok).toBe(false);
  isUnreadable = false;
  expect((await reader(early)).ok).toBe(true);
});
