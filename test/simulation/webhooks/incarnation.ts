import type { Delivery, LargeBodyPublisher, Receipt } from '../../../src/core/delivery.ts';
import { parseLayout } from '../../../src/crypto/layout.ts';
import type { SealingKeys } from '../../../src/crypto/sealing.ts';
import { SignatureCheck } from '../../../src/crypto/signature.ts';
import { acceptDelivery } from '../../../src/delivery/accept-delivery.ts';
import { ClaimCheck } from '../../../src/delivery/claim-check.ts';
import { createEventRoutes, type EventRoutes } from '../../../src/delivery/event-routes.ts';
import { deliveryTopics, openDelivery } from '../../../src/delivery/open-delivery.ts';
import { UNOBSERVED_DELIVERIES } from '../../../src/delivery/publish-delivery.ts';
import { type DeliveryStore, openStore, openWithLiveKeys } from '../../../src/delivery/store/open-store.ts';
import type { KafkaConnection } from '../../../src/kafka/connect/connection.ts';
import { openProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { BodyStore } from '../../../src/object-store/body-store.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { LiveKeyring } from '../../../src/subscriptions/keyring.ts';
import { ownEventSchemas } from '../../support/event-schemas.ts';
import { actorClock } from '../engine/actor-clock.ts';
import { quietContext } from '../engine/quiet-context.ts';
import type { Actor } from '../engine/simulation.ts';
import { modelLimits } from '../kafka/model-limits.ts';
import { ModelObjects } from '../storage/model-objects.ts';
import { ModelThread } from '../storage/model-thread.ts';
import { SUBSCRIPTIONS, type Webhook } from './messages.ts';
import type { Receiver } from './receiver.ts';
import type { Site } from './site.ts';

/** Compiled once: they hold nothing of a simulation. */
const SCHEMAS = ownEventSchemas();
const PREFIX = 'payments';
const SPOOL_BYTES = 64 * 1024 ** 2;
/** As ingress has it; see src/ingress/start-delivery.ts. */
const ATTEMPTS_WITH_SPOOL = 3;

const notLarge = () => Promise.reject(new Error('no body of a simulation is large'));
/** Large bodies go to a thread, which a simulation has not: none is that large. The drain asks all the same. */
const NO_LARGE_BODIES: LargeBodyPublisher = {
  store: notLarge,
  drain: notLarge,
  identify: notLarge,
  aside: (work) => work(),
};

/** The topics that every simulation has. */
export const eventRoutes = (): EventRoutes => createEventRoutes(SCHEMAS, PREFIX, { of: () => 258 });

/**
 * One life of an ingress process, from behind its HTTP server to its sockets, its disk and its object store: put together
 * as src/ingress/main.ts does it, with the production code's own assembly.
 */
export class Incarnation implements Receiver {
  readonly actor: Actor;
  readonly #publisher: Publisher;
  readonly #spool: Spool | undefined;
  readonly #store: DeliveryStore;
  readonly #keyring: LiveKeyring;
  readonly #clock: Clock;
  readonly #observer: Parameters<typeof acceptDelivery>[2]['observer'];

  private constructor(parts: {
    actor: Actor;
    clock: Clock;
    publisher: Publisher;
    spool: Spool | undefined;
    store: DeliveryStore;
    keyring: LiveKeyring;
    observer: Parameters<typeof acceptDelivery>[2]['observer'];
  }) {
    this.actor = parts.actor;
    this.#publisher = parts.publisher;
    this.#spool = parts.spool;
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#keyring = parts.keyring;
    this.#observer = parts.observer;
  }

  /** @throws HooklineError where the spool cannot be opened: the process ends, and is started again */
  static async start(site: Site, actor: Actor): Promise<Incarnation> {
    const { simulation, system } = site;
    const clock = actorClock(simulation, actor, simulation.random(actor.name));
    const context = quietContext(clock, (message) => simulation.unhandled.push(message));
    const spool = system.hasSpool ? await openSpool(site, actor, clock) : undefined;
    const keyring = openKeyring(clock);
    const routes = eventRoutes();
    const { ports, publisher } = openDelivery({
      routes,
      prefix: PREFIX,
      layout: parseLayout('iv12.ciphertext.tag16') as never,
      claims: system.hasObjects ? claimsOf(site, actor, clock) : undefined,
      encryptionKeysOf: (ref) => keyring.decryptionKeysOf(ref),
      openPublisher: () => openPublisher(site, clock),
      observer: UNOBSERVED_DELIVERIES,
    });
    const opened = publisher.open(deliveryTopics(routes, PREFIX));
    // With a spool it starts also where Kafka does not answer.
    if (spool) opened.catch(() => {});
    else await opened;
    const { deadlineMs: publishDeadlineMs } = system;
    const deps = { delivery: ports, publisher, publishDeadlineMs, large: NO_LARGE_BODIES };
    const store = openStore(deps, spool, context);
    return new Incarnation({ actor, clock, publisher, spool, store, keyring, observer: ports.observer });
  }

  trouble(): string | null {
    return this.#store.trouble() ?? this.#publisher.trouble();
  }

  get backlogBytes(): number {
    return this.#publisher.backlogBytes;
  }

  get outstanding(): number {
    return this.#spool === undefined ? 0 : this.#spool.outstanding + this.#spool.state.keyMissing;
  }

  /** @throws HooklineError as `acceptDelivery` */
  receive({ ref, mediaType, body, signature }: Webhook): Promise<Receipt> {
    const delivery: Delivery = {
      ref,
      mediaType,
      body: Buffer.from(body),
      traceparent: undefined,
      receivedAt: this.#clock.wall(),
    };
    const check = new SignatureCheck(this.#keyring.signingKeysOf(ref));
    const ports = { observer: this.#observer, store: this.#store.store };
    return acceptDelivery(delivery, { check, header: signature }, ports);
  }

  /** As its components are stopped at a SIGTERM; requests in progress have ended before. */
  async stop(): Promise<void> {
    await this.#store.stop();
    await this.#publisher.stop();
    await this.#spool?.close();
  }
}

function openSpool({ simulation, volume, sealingKeys }: Site, actor: Actor, clock: Clock): Promise<Spool> {
  const open = (keys: SealingKeys | undefined) =>
    Spool.open({
      dir: '/spool',
      maxBytes: SPOOL_BYTES,
      clock,
      sealingKeys: keys,
      startThread: (deps) => new ModelThread(simulation, actor, volume, deps),
      onDeath: () => {},
    });
  return openWithLiveKeys(sealingKeys.open(actor), open, () => {});
}

function openKeyring(clock: Clock): LiveKeyring {
  const keyring = new LiveKeyring({ retiredKeysTtlMs: 0, clock });
  for (const { ref, subscriptionId, signingSecret, encryptionKey } of SUBSCRIPTIONS)
    keyring.setDir(ref, {
      subscriptionIds: [subscriptionId],
      signingSecrets: [signingSecret],
      encryptionKeys: [encryptionKey],
    });
  return keyring;
}

function claimsOf({ simulation, system, bucket, store }: Site, actor: Actor, clock: Clock): ClaimCheck {
  const random = simulation.random(`${actor.name}/objects`);
  const bodies = new BodyStore({
    store: new ModelObjects(simulation, { actor, store, bucket, random }),
    address: { bucket: 'events', prefix: 'hookline' },
    deadlineMs: system.objectDeadlineMs,
    attempts: system.hasSpool ? ATTEMPTS_WITH_SPOOL : undefined,
    clock,
    observer: { written() {}, troubleChanged() {} },
  });
  return new ClaimCheck(bodies, system.claimCheckBytes);
}

function openPublisher({ simulation, cluster, system }: Site, clock: Clock) {
  const limits = modelLimits(simulation, cluster, { clock, isAllowed: system.knowsLimits });
  const connection: KafkaConnection = {
    brokers: cluster.bootstrap,
    tls: undefined,
    sasl: undefined,
    loopbackOnly: false,
  };
  const publisher = new Publisher({
    openSession: (rotation) =>
      openProducerSession(connection, { clientId: 'hookline-ingress', rotation, clock }),
    sessions: system.sessions,
    backlogBytes: system.backlogBytes,
    limits,
    clock,
    observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
  });
  return { publisher, limits };
}
