import type { Registry } from '../../../src/avro/registry.ts';
import type { ControlConfig } from '../../../src/control/config.ts';
import { followState } from '../../../src/control/follow-state.ts';
import { type ControlObserver, observeControl } from '../../../src/control/observe-control.ts';
import { openControl } from '../../../src/control/open-control.ts';
import type { KafkaConnection } from '../../../src/kafka/connect/connection.ts';
import { createKafkajs } from '../../../src/kafka/connect/kafkajs-client.ts';
import { readInGroup } from '../../../src/kafka/consume/group-reader.ts';
import { openFetcher, type TopicFetcher } from '../../../src/kafka/consume/topic-fetcher.ts';
import { UNOBSERVED } from '../../../src/kafka/open-kafka.ts';
import { openProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { createBreaker } from '../../../src/provider/breaker.ts';
import { createProviderCall } from '../../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { createTokenSource } from '../../../src/provider/token-source.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import type { DirSecrets } from '../../../src/subscriptions/secrets-dir.ts';
import { actorClock } from '../engine/actor-clock.ts';
import { quietContext } from '../engine/quiet-context.ts';
import type { Actor } from '../engine/simulation.ts';
import { PROVIDER_URL } from '../provider/model-provider.ts';
import { simulatedHttp } from '../provider/simulated-http.ts';
import { SCHEMA_IDS, SCHEMAS, SEALING_KEYS } from './parts.ts';
import {
  COMMANDS,
  type ControlSite,
  DEAD_LETTERS,
  PREFIX,
  PUBLIC_URL,
  RESULTS,
  SUBSCRIPTIONS,
} from './site.ts';

const BACKLOG_BYTES = 16 * 1024 ** 2;
const NO_REGISTRY = {} as Registry;

/** One life of a control process. */
export type ControlIncarnation = { stop(): Promise<void> };

/**
 * Starts a control process from its configuration to its sockets, put together as src/control/main.ts does it: without the
 * registry, the checks of topics, the lag, the count of open dead-letter records, and the watch of topic ids: no topic is deleted.
 */
export async function startControl(
  site: ControlSite,
  actor: Actor,
  onFatal: (error: Error) => void,
): Promise<ControlIncarnation> {
  const { simulation, cluster, system } = site;
  const clock = actorClock(simulation, actor, simulation.random(actor.name));
  const observe = observeControl({
    logger: loggerOf(site, actor),
    metrics: quietContext(clock).metrics,
    clock,
  });
  const connection: KafkaConnection = {
    brokers: cluster.bootstrap,
    tls: undefined,
    sasl: undefined,
    loopbackOnly: false,
  };
  const publisher = new Publisher({
    openSession: (rotation) => openProducerSession(connection, { clientId: actor.name, rotation, clock }),
    clock,
    backlogBytes: BACKLOG_BYTES,
    observer: UNOBSERVED,
  });
  await publisher.open([RESULTS, SUBSCRIPTIONS, DEAD_LETTERS]);
  const openTopic = (topic: string) => openFetcher(connection, { clientId: actor.name, clock }, topic);
  const parts = { schemas: SCHEMAS, ids: SCHEMA_IDS, registry: NO_REGISTRY, clock };
  const state = await followState({ ...parts, openTopic, prefix: PREFIX, ...observe.state });
  const provider = openSimulatedProvider(site, actor, { clock, observe });
  const control = openControl({
    ...parts,
    publisher,
    state,
    observe,
    call: provider.call,
    sealingKeys: SEALING_KEYS,
    dirSecrets: async (ref) => secretsOf(site, ref),
    config: configOf(site),
    openDeadLetters: { working() {} },
  });
  const commands = await readInGroup({
    kafka: createKafkajs(connection, actor.name, (message, fields) =>
      simulation.trace.explain(actor.name, () => `  kafkajs: ${message} ${JSON.stringify(fields)}`),
    ),
    groupId: 'hookline-control',
    openTopic: openUnwatched,
    topics: [COMMANDS],
    sessionTimeoutMs: system.sessionTimeoutMs,
    clock,
    ...control,
    ...observe.reader,
    onFatal,
  });
  return {
    async stop() {
      await commands.stop();
      await control.stop();
      await provider.stop();
      await state.stop();
      await publisher.stop();
    },
  };
}

const openUnwatched = () =>
  ({ lookUp: async () => ({ topicId: 'the same', leaders: [] }), close() {} }) as unknown as TopicFetcher;

/** As in SECRETS_DIR. */
function secretsOf({ simulation, foreign }: ControlSite, ref: string): DirSecrets {
  const one = foreign.get(ref);
  const known = one && simulation.now >= one.knownAt ? [one] : [];
  return {
    subscriptionIds: known.filter(({ isNamed }) => isNamed).map(({ id }) => id),
    signingSecrets: known.map(({ signingSecret }) => signingSecret),
    encryptionKeys: [],
  };
}

/** As src/provider/open-provider.ts has it, but for the HTTP client and the file with the JWT. */
function openSimulatedProvider(
  { network, begun }: ControlSite,
  actor: Actor,
  { clock, observe }: { readonly clock: Clock; readonly observe: ControlObserver },
) {
  const http = simulatedHttp(network, actor, { clock, begun });
  const { onNarrowerScope, onRequest, onUnavailable } = observe.provider;
  const settings = {
    authUrl: PROVIDER_URL,
    scope: 'webhooks',
    grantType: 'client_credentials',
    clientAssertionType: 'jwt',
  };
  const tokens = createTokenSource({
    clock,
    settings,
    http,
    assertion: async () => 'a.b.c',
    onNarrowerScope,
    onRequest,
  });
  const call = createProviderCall({ baseUrl: PROVIDER_URL, http, tokens, onRequest, clock });
  const breaker = createBreaker({ call, onChange: onUnavailable, clock });
  return {
    call: breaker.call,
    async stop() {
      await breaker.stop();
      await http.stop();
    },
  };
}

/** What control reads of its configuration behind its start. */
function configOf({ system }: ControlSite): ControlConfig {
  const { deadlineMs, sessionTimeoutMs, reconcile, reconcileIntervalMs, retiredKeysTtlMs } = system;
  const control = { publicUrl: PUBLIC_URL, commandDeadlineMs: deadlineMs, sessionTimeoutMs };
  return {
    subscriptions: { secretsDir: undefined, retiredKeysTtlMs },
    control: {
      ...control,
      retiredDecryptionKeysTtlMs: 0,
      reconcile,
      reconcileIntervalMs,
      reconcileRepairMax: 5,
    },
    topics: { prefix: PREFIX },
    provider: { dialect: DEFAULT_DIALECT },
    commandTopics: [{ name: COMMANDS, refs: null }],
  } as unknown as ControlConfig;
}

/** Its log is part of the story that is told of a broken promise. */
function loggerOf({ simulation }: ControlSite, actor: Actor): Logger {
  const tell = (fields: unknown, message?: string) =>
    simulation.trace.explain(actor.name, () =>
      message === undefined ? `  ${fields}` : `  ${message} ${shown(fields)}`,
    );
  return { info: tell, warn: tell, error: tell, debug() {} } as unknown as Logger;
}

const shown = (fields: unknown) =>
  JSON.stringify(fields, (_, value) => (value instanceof Error ? value.message : value)).slice(0, 400);
