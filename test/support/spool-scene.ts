import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { LargeBodyPublisher, Receipt } from '../../src/core/delivery.ts';
import { hasCode } from '../../src/core/errors.ts';
import { parseSealingKeys, type SealingKeys } from '../../src/crypto/sealing.ts';
import { ClaimCheck, objectFirst } from '../../src/delivery/claim-check.ts';
import { identifyDelivery, publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { SpoolingStore } from '../../src/delivery/store/spooling-store.ts';
import { AttemptError } from '../../src/kafka/produce/attempt-error.ts';
import type { Publisher } from '../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Spool } from '../../src/spool/spool.ts';
import { deliveryParts, verified } from './delivery-parts.ts';
import { ScriptedCluster } from './scripted-cluster.ts';
import { type Fate, scriptedBodies } from './scripted-object-store.ts';
import { until } from './until.ts';

/** A machine that does other things too is slow. */
export const PATIENCE_MS = 50_000;

/** Above LARGE_BODY_BYTES. */
const LARGE_PADDING = ' '.repeat(2 * 1024 * 1024);

/** A store with a real spool, over a scripted cluster and a scripted object store. */
export class SpoolScene {
  readonly cluster = new ScriptedCluster();
  objects!: ReturnType<typeof scriptedBodies>;
  claims!: ClaimCheck;
  spool!: Spool;
  publisher!: Publisher;
  store!: SpoolingStore;
  /** What the store's observer was told. */
  readonly log: string[] = [];
  isUnavailable = false;
  publishDeadlineMs = 200;
  isStoreDown = false;
  /** What the object store does not take: the objects with this text, while it takes all others. */
  refused: { readonly entity: string; readonly fate: Fate } | undefined;
  /** Large bodies that came to the thread, and those that it worked on. */
  asked = 0;
  tried = 0;
  readonly #dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
  #sealingKeys: SealingKeys | undefined;

  constructor() {
    this.cluster.fateOf = () => (this.isUnavailable ? new AttemptError('unknown', 'cut') : undefined);
  }

  async start(large?: LargeBodyPublisher, storeDeadlineMs = 100): Promise<void> {
    this.objects = scriptedBodies(systemClock, storeDeadlineMs);
    this.objects.store.fateOf = (_, __, bytes) => {
      if (this.isStoreDown) return 'unavailable';
      return this.refused && bytes?.includes(this.refused.entity) ? this.refused.fate : undefined;
    };
    this.claims = new ClaimCheck(this.objects.bodies, 2_000);
    this.spool = await Spool.open({
      clock: systemClock,
      dir: this.#dir,
      sealingKeys: this.#sealingKeys,
      maxBytes: 64 * 1024 ** 2,
      onDeath: () => this.log.push('death'),
    });
    this.publisher = this.cluster.publisher();
    this.store = new SpoolingStore({
      delivery: deliveryParts({ claims: this.claims }),
      spool: this.spool,
      publisher: this.publisher,
      clock: systemClock,
      publishDeadlineMs: this.publishDeadlineMs,
      ...(large && { large }),
      observer: {
        spooling: () => this.log.push('spooling'),
        holding: () => this.log.push('holding'),
        drained: (deliveries) => this.log.push(`drained ${deliveries}`),
        drainFailed: (error) => this.log.push(`failed: ${(error as Error).message}`),
        drainBroken: (error) => this.log.push(`broken: ${(error as Error).message}`),
      },
    });
  }

  /** As the thread takes large bodies, with a client of its own. */
  readonly largeBodies: LargeBodyPublisher = {
    store: (delivery, deadlineMs) => {
      this.asked++;
      try {
        deadlineMs();
      } catch (error) {
        return Promise.reject(error);
      }
      this.tried++;
      return publishDelivery(delivery, this.#portsOfThread()).catch((error) => {
        if (hasCode(error, 'BODY_STORE_UNAVAILABLE')) this.claims.noteWrite('unavailable', 0, error);
        throw error;
      });
    },
    drain: (delivery) => publishDelivery(delivery, this.#portsOfThread()),
    identify: async (delivery) => identifyDelivery(delivery, this.#portsOfThread()),
    aside: (work) => work(),
  };

  async restart(keys: SealingKeys, large?: LargeBodyPublisher): Promise<void> {
    await this.stop();
    this.#sealingKeys = keys;
    await this.start(large);
  }

  /** As a process stops. */
  async stop(): Promise<void> {
    await this.store.stop();
    await this.publisher.stop();
    await this.spool.close();
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** @param isBig it needs the object store */
  send(entity: string, n: number, isBig = false, type = 'payment-status'): Promise<Receipt> {
    const padding = isBig ? `,"padding":"${'x'.repeat(3_000)}"` : '';
    return this.store.store(verified(`{"type":"${type}","entityId":"${entity}","n":${n}${padding}}`));
  }

  /** One that is for the thread. */
  sendLarge(entity: string, n: number): Promise<Receipt> {
    return this.store.store(
      verified(`{"type":"payment-status","entityId":"${entity}","n":${n}}${LARGE_PADDING}`),
    );
  }

  /** The numbers of an entity's events in their partition, each at its first appearance; those of the objects that records refer to, too. */
  order(entity: string): number[] {
    const values = [...this.cluster.log.values()].flat().filter((value) => value.includes(entity));
    const messages = values.map((value) => {
      const [, key] = /s3:\/\/events\/([!-~]+?\.json)/.exec(value) ?? [];
      return key === undefined ? value : String(this.objects.store.objects.get(key));
    });
    return [...new Set(messages.map((message) => Number(/"n":(\d+)/.exec(message)?.[1])))];
  }

  async drained(): Promise<void> {
    await until(
      'the spool is drained',
      () => this.log.some((line) => line.startsWith('drained')),
      PATIENCE_MS,
    );
  }

  #portsOfThread() {
    const parts = deliveryParts({ claims: this.claims });
    const publish = objectFirst(this.claims, (record) => this.publisher.publish(record, 1_000));
    return { ...parts, publish };
  }
}

/** A spool with these messages, for one test. It seals with the key `a`. */
export async function openFilledSpool(...messages: readonly string[]): Promise<Spool> {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-drain-'));
  const onDeath = (error: Error) => expect.fail(error.message);
  const sealingKeys = sealingKeysOf('a');
  const spool = await Spool.open({ dir, maxBytes: 1e8, clock: systemClock, onDeath, sealingKeys });
  onTestFinished(async () => {
    await spool.close();
    rmSync(dir, { recursive: true });
  });
  for (const message of messages) await spool.append(verified(message));
  return spool;
}

/** @param letters one for each key */
export function sealingKeysOf(...letters: string[]): SealingKeys {
  const keys = parseSealingKeys(Buffer.from(letters.map((one) => one.repeat(32)).join('\n')));
  if (!keys) throw new TypeError('no keys');
  return keys;
}

export const placesOf = (receipts: readonly Receipt[]) => receipts.map(({ stored }) => stored);
