/**
 * The way of small webhooks from signature to record, without I/O: what work each costs, counted. Times differ from
 * machine to machine and run to run; calls and allocated bytes don't. Run with a new space that takes all of it, so that
 * nothing is collected meanwhile: `node --max-semi-space-size=512 --expose-gc test/bench/pure/count-work.ts plain`.
 */
import { createHook } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { VerifiedDelivery } from '../../../src/core/delivery.ts';

const calls = new Map<string, number>();

/** Counts the calls of one function of an object. */
function count(object: object, name: string): void {
  const owner = object as Record<string, (...args: unknown[]) => unknown>;
  const original = owner[name];
  if (!original) throw new TypeError(`there is no ${name}`);
  owner[name] = function (this: unknown, ...args: unknown[]) {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    return original.apply(this, args);
  };
}

const form = process.argv[2] === 'sealed' ? 'sealed' : 'plain';
const isCounting = process.argv[3] === 'calls';
/** Calls are the same from the first event on; bytes only once everything is compiled. */
const EVENTS = isCounting ? 1_000 : 4_000;
const WARM_UPS = isCounting ? 1 : 5;
if (isCounting) {
  const crypto = createRequire(import.meta.url)('node:crypto');
  for (const name of ['createHmac', 'createHash', 'hash', 'createDecipheriv', 'createSecretKey'])
    count(crypto, name);
  syncBuiltinESMExports();
}
const { acceptDelivery } = await import('../../../src/delivery/accept-delivery.ts');
const { publishDelivery } = await import('../../../src/delivery/publish-delivery.ts');
const { SignatureCheck } = await import('../../../src/crypto/signature.ts');
const { encryptionKey, signingKey } = await import('../../../src/crypto/keys.ts');
const { deliveryParts } = await import('../../support/delivery-parts.ts');
const { makeRequest, SUBSCRIPTION } = await import('../load/bodies.ts');

const { subscriptionId, signingSecret, encryptionKey: characters, ref } = SUBSCRIPTION;
const keys = [signingKey(subscriptionId, signingSecret, 0)];
const encryptionKeys = [encryptionKey(characters, 0)];
const requests = Array.from({ length: EVENTS }, (_, n) => makeRequest(n, form));
const position = { topic: 't', partition: 0, offset: 0n };
let bytes = 0;
const parts = {
  ...deliveryParts(),
  encryptionKeysOf: () => encryptionKeys,
  observer: { keyMatched() {}, drift() {}, unclassified() {}, deadLettered() {} },
  publish: async (record: { value: Buffer | null }) => {
    bytes += record.value?.length ?? 0;
    return position;
  },
};
const accept = { ...parts, store: (delivery: VerifiedDelivery) => publishDelivery(delivery, parts) };

/** As at a high rate, on a machine of any speed: headers are laid out anew for each millisecond. */
const EVENTS_A_MS = 20;
const BEGAN = Date.now();

async function run(): Promise<void> {
  for (const [n, { body, signature, mediaType }] of requests.entries()) {
    const check = new SignatureCheck(keys);
    check.update(body);
    const delivery = {
      ref,
      mediaType,
      body,
      receivedAt: BEGAN + Math.floor(n / EVENTS_A_MS),
      traceparent: undefined,
    };
    await acceptDelivery(delivery, { check, header: signature }, accept);
  }
}

const collect = globalThis.gc ?? (() => {});
// What the compiler makes of it allocates less than what the interpreter runs.
for (let n = 0; n < WARM_UPS; n++) await run();
let timers = 0;
if (isCounting) {
  calls.clear();
  count(JSON, 'parse');
  for (const name of ['from', 'alloc', 'allocUnsafe', 'concat']) count(Buffer, name);
  createHook({
    init: (_, type) => void (/^(Timeout|Immediate|TickObject)$/.test(type) && timers++),
  }).enable();
}
bytes = 0;
collect();
const before = process.memoryUsage().heapUsed;
await run();
const heapBytes = process.memoryUsage().heapUsed - before;
const perEvent = Object.fromEntries([...calls].map(([name, n]) => [name, n / EVENTS]));
process.stdout.write(
  `${JSON.stringify({ heapBytes: heapBytes / EVENTS, recordBytes: bytes / EVENTS, timers: timers / EVENTS, calls: perEvent })}\n`,
);
