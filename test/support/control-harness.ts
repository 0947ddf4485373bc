import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { compileCodec } from '../../src/avro/record-codec.ts';
import { createRecordReader } from '../../src/avro/record-reader.ts';
import { createCommandReader } from '../../src/control/read-command.ts';
import { type ControlDeps, runCommand } from '../../src/control/run-command.ts';
import type { CommandPosition, CommandResult } from '../../src/core/command.ts';
import { HooklineError } from '../../src/core/errors.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { IncomingRecord } from '../../src/core/record.ts';
import { parseSealingKeys } from '../../src/crypto/sealing.ts';
import type { ProviderCall } from '../../src/provider/call-provider.ts';
import { parseDialect } from '../../src/provider/dialect.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { readDirSecrets } from '../../src/subscriptions/secrets-dir.ts';
import {
  openSecrets,
  type SubscriptionRecord,
  type SubscriptionSecrets,
} from '../../src/subscriptions/subscription-record.ts';
import { openProviderHarness } from './provider-harness.ts';

export const TOPIC = 'payments.commands';
export const PUBLIC_URL = 'https://hooks.example';
/** Long enough that nothing ends by it unless a test sets it. */
const DEADLINE_MS = 60_000;

type Options = {
  readonly deadlineMs?: number;
  readonly retiredKeysTtlMs?: number;
  /** As long as the others, if omitted. */
  readonly retiredDecryptionKeysTtlMs?: number;
  readonly dialect?: string;
  readonly publicUrl?: string;
  /** Of topics that don't take every ref. */
  readonly refPatterns?: Readonly<Record<string, readonly string[]>>;
};

/** Where a test steps in. */
type Hooks = {
  /** Called before the nth write of the state or a result; what it throws is the write's failure. */
  onWrite?: (what: 'state' | 'result', n: number) => void;
  /** Called before each request to the provider. */
  onCall?: (request: Parameters<ProviderCall>[0]) => void;
  /** Called where the flow looks whether it may go on, right before what can't be taken back. */
  onCheck?: () => void;
};

/**
 * The whole flow of a command in this process: the product's own operations, sealing, secrets and HTTP client against a
 * sandbox. Kafka alone is a double, so that the process can be "killed" at any of its writes.
 */
export async function openControlHarness(options: Options = {}) {
  const provider = await openProviderHarness();
  const sealingKeys = parseSealingKeys(randomBytes(32));
  if (!sealingKeys) throw new Error('no sealing key');
  const state = new Map<string, SubscriptionRecord>();
  const written: (SubscriptionRecord | null)[] = [];
  const results: CommandResult[] = [];
  const deadLetters: { record: IncomingRecord; code: string }[] = [];
  const unnamed: unknown[] = [];
  const observed: CommandResult[] = [];
  const stopping = new AbortController();
  let writes = 0;
  let offset = 0n;
  const hooks: Hooks = {};
  const write = (what: 'state' | 'result', of: Lease) => {
    of.check();
    hooks.onWrite?.(what, ++writes);
  };
  const lease: Lease = {
    signal: stopping.signal,
    check() {
      hooks.onCheck?.();
      stopping.signal.throwIfAborted();
    },
  };

  const parts: ControlDeps = {
    clock: systemClock,
    readCommand: createCommandReader(
      createRecordReader(compileCodec({ type: 'record', name: 'R', fields: [] }), 1, {
        writerType: () => Promise.reject(new HooklineError('SCHEMA_NOT_REGISTERED')),
      } as never),
    ),
    call: (request) => {
      hooks.onCall?.(request);
      return provider.call(request);
    },
    dialect: parseDialect(options.dialect ?? '{}'),
    publicUrl: options.publicUrl ?? PUBLIC_URL,
    commandDeadlineMs: options.deadlineMs ?? DEADLINE_MS,
    retired: {
      liveMs: options.retiredKeysTtlMs ?? DEADLINE_MS,
      keptMs: options.retiredDecryptionKeysTtlMs ?? options.retiredKeysTtlMs ?? DEADLINE_MS,
    },
    sealingKeys,
    finished: {
      positionOf(commandId): CommandPosition | undefined {
        const first = results.find((result) => result.commandId === commandId);
        return (
          first && {
            topic: first.commandTopic,
            partition: first.commandPartition,
            offset: first.commandOffset,
          }
        );
      },
      caughtUp: async () => {},
      wrote: () => {},
      stop: async () => {},
    },
    subscriptions: {
      get: (ref) => state.get(ref),
      all: () => [...state.values()],
      caughtUp: async () => {},
    },
    acquireState: async (of) => ({ ...of, epoch: 1 }),
    records: {
      restoreSubscription: async () => {},
      storeClaim: async () => {},
      async storeResult(result, of) {
        write('result', of);
        results.push(result);
      },
      async storeSubscription(ref, record, of) {
        write('state', of);
        written.push(record);
        if (record) state.set(ref, record);
        else state.delete(ref);
      },
      async storeDeadLetter(record, { reason }) {
        deadLetters.push({ record, code: reason.code });
      },
    },
    dirSecrets: (ref, only) => readDirSecrets(join(provider.fixture.dir, 'secrets'), ref, only),
    refPatterns: (topic) => options.refPatterns?.[topic] ?? null,
    observe: (result) => observed.push(result),
    unnamed: (error) => unnamed.push(error),
  };

  const recordOf = (value: Buffer | object | null, topic = TOPIC): IncomingRecord => ({
    topic,
    partition: 0,
    offset: offset++,
    key: null,
    headers: {},
    timestamp: Date.now(),
    value: value === null || Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
  });
  const take = (record: IncomingRecord, by = lease) => runCommand(record, parts, by);

  return {
    provider,
    parts,
    hooks,
    state,
    written,
    results,
    deadLetters,
    unnamed,
    observed,
    stopping,
    lease,
    recordOf,
    take,
    sandbox: provider.sandbox,
    fixture: provider.fixture,
    /** Has a command carried out, and gives its result. */
    async run(command: object, topic?: string): Promise<CommandResult> {
      await take(recordOf({ commandId: randomUUID(), ...command }, topic));
      const result = results.at(-1);
      if (!result) throw new Error('no result');
      return result;
    },
    /** The secrets in the state of a ref. */
    secretsOf(ref: string): SubscriptionSecrets | null {
      const record = state.get(ref);
      return record?.sealedKeys ? openSecrets(sealingKeys, record, record.sealedKeys) : null;
    },
    /** What the provider has, secrets included. */
    async subscriptions(): Promise<
      {
        id: string;
        url: string;
        events: string[];
        signingSecret: string;
        encryptionKey: string | null;
        extra: object;
      }[]
    > {
      return (await provider.sandbox.call('GET', '/_sandbox/subscriptions')).json;
    },
    async seed(more: object = {}): Promise<{ id: string; url: string; signingSecret: string }> {
      const url = `${PUBLIC_URL}/elsewhere`;
      const json = { url, events: ['payment_status'], ...more };
      return (await provider.sandbox.call('POST', '/_sandbox/subscriptions', { json })).json;
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

export type ControlHarness = Awaited<ReturnType<typeof openControlHarness>>;

/** What a write fails with when the process ends before it: the command then comes again. */
export const killed = () => new HooklineError('PUBLISHER_CLOSED');

export const create = (ref: string, more: object = {}) => ({
  type: 'subscription.create',
  ref,
  events: ['payment_status'],
  ...more,
});

/** Lets so much time pass for commands, in the moment of a request to the provider: nobody waits for it. */
export function passTime(harness: ControlHarness, method: string, ms: number): void {
  const now = performance.now.bind(performance);
  let passed = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
  onTestFinished(() => spy.mockRestore());
  harness.hooks.onCall = (request) => {
    if (request.method === method) passed += ms;
  };
}

/** Of a harness's usual deadline it leaves less than a further try would take, and the time for closing. */
export const NEARLY_ALL_MS = DEADLINE_MS * (11 / 12) - 300;
