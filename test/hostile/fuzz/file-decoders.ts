import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readWanted } from '../../../src/cli/subscriptions/read-wanted.ts';
import { isRef } from '../../../src/core/names.ts';
import { DEFAULT_DIALECT, parseDialect } from '../../../src/provider/dialect.ts';
import { fillTemplate } from '../../../src/provider/template.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { cacheFile } from '../../../src/runtime/startup-cache.ts';
import { SpoolFile } from '../../../src/spool/spool-file.ts';
import { toDelivery } from '../../../src/spool/spool-row.ts';
import { cachedRecords } from '../../../src/subscriptions/subscription-record.ts';
import { changed, changes, type Fuzzed, fuzzed, must, outcome } from './fuzzed.ts';

const DIALECT = JSON.stringify({
  create: { body: { url: '{url}', hook: { events: '{events}' } }, response: { id: '/data/id' } },
  list: { items: '/items', active: '/on' },
  extra: { allow: ['description'] },
  eventNames: { 'payment-status': 'payment_status' },
});
const SUBSCRIPTIONS = `topic: payments.commands
subscriptions:
  ledger: { events: [payment-status], extra: { description: "a: b" } }
  risk: &risk
    events: [payment-status, accounts-entries]
    adopt: true
  more: *risk
`;
const KEPT = JSON.stringify([
  {
    ref: 'a',
    state: 'ACTIVE',
    subscriptionId: 's',
    receiverUrl: 'https://h',
    events: ['payment-status'],
    owner: 'o',
    sealedKeys: 'AQ==',
    commandId: null,
    extra: null,
    updatedAt: 5,
  },
]);

const mutated = (text: string) =>
  changes.map((by) => changed(Buffer.from(text), by)?.toString('latin1') ?? text);
const keep = { notWritten() {}, damaged() {} };

/** Decoders of files; those on a disk have a folder of their own. */
export function fileDecoders(): { readonly decoders: readonly Fuzzed[]; [Symbol.dispose](): void } {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-fuzz-'));
  const spool = new SpoolFile({ dir, maxBytes: 64 * 1024 * 1024 });
  return {
    decoders: [dialects, subscriptionFiles, keptFiles(dir), spoolRows(spool)],
    [Symbol.dispose]() {
      spool.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const dialects = fuzzed(
  'dialect files',
  1,
  fc.oneof(mutated(DIALECT), fc.json(), fc.string()),
  async (text) => {
    const end = await outcome(
      () => parseDialect(text),
      (error) => error instanceof Error && error.constructor === Error,
    );
    if (!('value' in end)) return;
    const { create, list, eventNames } = end.value;
    must(
      [create.response.id, list.items, list.id].every((steps) =>
        steps.every((step) => typeof step === 'string'),
      ),
      'a pointer that is none',
    );
    must(
      Object.values(eventNames).every((name) => typeof name === 'string' && name !== ''),
      'an event without a name',
    );
    must(typeof fillTemplate(create.body, { url: 'u' }) === 'object', 'a body that is none');
  },
);

const subscriptionFiles = fuzzed(
  'subscription files',
  1,
  fc.oneof(mutated(SUBSCRIPTIONS), fc.json(), fc.string()),
  (text) => {
    const read = readWanted('subscriptions.yaml', text, DEFAULT_DIALECT);
    if ('faults' in read)
      must(
        read.faults.length > 0 && read.faults.every((fault) => fault.startsWith('subscriptions.yaml')),
        'refused without a fault',
      );
    else
      must(
        read.wanted.subscriptions.every(({ ref, events, adopt }) => isRef(ref) && (adopt || events?.length)),
        'half a subscription',
      );
  },
);

const keptFiles = (dir: string) =>
  fuzzed('startup cache files', 0.3, fc.oneof(mutated(KEPT), fc.json(), fc.string()), (text) => {
    writeFileSync(join(dir, 'kept.json'), text);
    const records = cachedRecords(cacheFile(dir, 'kept.json', keep), systemClock).read();
    must(
      records.every(
        ({ ref, sealedKeys, events }) =>
          isRef(ref) && (sealedKeys === null || Buffer.isBuffer(sealedKeys)) && Array.isArray(events),
      ),
      'half a record',
    );
  });

const row = fc.record({
  ref: fc.string(),
  subscriptionId: fc.string(),
  mediaType: fc.constantFrom('json' as const, 'octet-stream' as const),
  receivedAt: fc.nat(),
  traceparent: fc.option(fc.string()),
  body: fc.uint8Array({ maxLength: 200 }),
});

const spoolRows = (spool: SpoolFile) =>
  fuzzed('spool rows', 0.02, fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
    spool.append(rows);
    const read = spool.read({ maxRows: 10, maxBytes: 1_000_000 });
    spool.remove(read.map(({ id }) => id));
    must(read.length === rows.length, 'another number of rows');
    for (const [n, stored] of read.entries()) {
      const { delivery } = toDelivery(stored);
      must(delivery.body.equals(Buffer.from(rows[n]?.body ?? [])), 'another body');
      must(delivery.ref === rows[n]?.ref && delivery.receivedAt === rows[n]?.receivedAt, 'another row');
    }
  });
