#!/usr/bin/env node

import { commandSchemasIn } from '../avro/command-schemas.ts';
import { eventSchemasIn } from '../avro/event-schema.ts';
import { openRegistry } from '../avro/open-registry.ts';
import { createOwnReader } from '../avro/record-reader.ts';
import { nodeSource } from '../config/env.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { createEventRoutes } from '../delivery/event-routes.ts';
import { deliveryTopics } from '../delivery/open-delivery.ts';
import { openSpool, openStore } from '../delivery/store/open-store.ts';
import { awaitTopics } from '../kafka/admin/watch-safety.ts';
import { openKafka } from '../kafka/open-kafka.ts';
import { systemClock as clock } from '../runtime/clock.ts';
import { clientLog, createLogger } from '../runtime/logger.ts';
import { observeFiles } from '../runtime/observe-files.ts';
import { configOrExit, openContext, runProcess } from '../runtime/process-shell.ts';
import { openSealingKeys } from '../runtime/sealing-key-file.ts';
import { backgroundGate } from '../runtime/start-gate.ts';
import { tuneForWebhooks } from '../runtime/v8-flags.ts';
import { awaitSubscriptions, startKeyring } from '../subscriptions/start-keyring.ts';
import { observeTokens } from '../tokens/observe-tokens.ts';
import { openBodyMemory, startIngressServer } from './ingress-server.ts';
import { startLargeBodies } from './large-body/large-body-threads.ts';
import { ingressConfig, loadIngressConfig } from './settings.ts';
import { bodiesByPolicy, mayStartWithoutKafka, openStartupState, startDelivery } from './start-delivery.ts';
import { startTracing, traced, traceStore } from './tracing.ts';

tuneForWebhooks();
const config = configOrExit(() => loadIngressConfig(nodeSource(process.env)));
const events = configOrExit(() => eventSchemasIn(config.schemas.dir));
const { subscription } = configOrExit(() => commandSchemasIn(config.schemas.dir));
const logger = createLogger({ name: 'hookline-ingress', level: config.runtime.logLevel });
const files = observeFiles(logger);
const tokenLog = observeTokens(logger);
const client = { clientId: 'hookline-ingress', log: clientLog(logger), clock, files, tokenLog };
const sealingKeys = configOrExit(() => openSealingKeys(config.subscriptions.sealingKeyFile, client));
const bodies = configOrExit(() => bodiesByPolicy(events, { ...config, sealingKeys }));
const registry = configOrExit(() => openRegistry(config.registry, client));
const kafka = configOrExit(() => openKafka({ settings: config.kafka, ...client }));

await runProcess({
  logger,
  groups: ingressConfig,
  config,
  env: process.env,
  stopDeadlineMs: config.runtime.stopDeadlineMs,
  async start(components) {
    const context = await openContext({ logger, clock, components }, config.runtime);
    const { gate, metrics } = context;
    for (const log of [files, tokenLog]) log.report(metrics);
    const { prefix } = config.topics;
    const { layout, publishDeadlineMs } = config.ingress;
    const tracer = await startTracing(config.tracing, context);
    const spool = await openSpool(config.spool, sealingKeys, context);
    const startup = openStartupState({ dir: config.spool.dir, registry, prefix, context });
    const ids = await gate.pass('the schema registry', () =>
      startup.schemaIds([...events.registered, subscription]),
    );
    const routes = createEventRoutes(events, prefix, ids);
    const topic = topicName(prefix, OWN_TOPICS.subscriptions);
    const topics = { written: deliveryTopics(routes, prefix), others: [topic], ...config.durability };
    const withoutKafka = spool && { mayStartWithout: mayStartWithoutKafka };
    const areTopicsReached = await awaitTopics({ kafka: kafka.client, ...topics, ...withoutKafka }, context);
    const read = createOwnReader(subscription.codec, ids.of(subscription), registry, clock);
    const reading = { openTopic: kafka.openTopic, topic, read, ...startup.subscriptions };
    const keyringGate = areTopicsReached ? gate : backgroundGate(context);
    const keys = await startKeyring(
      { settings: config.subscriptions, sealingKeys, gate: keyringGate, ...reading },
      context,
    );
    const { keyring, keysKnown } = keys;
    const isKafkaReached = areTopicsReached && (await awaitSubscriptions(keys, { ...withoutKafka }, context));
    const { ports, publisher } = await startDelivery(
      { kafka, routes, prefix, layout, ...bodies, files, keyring, isKafkaReached },
      context,
    );
    const memory = openBodyMemory(config, context);
    const worker = {
      kafka: config.kafka,
      bodyStore: config.bodyStore,
      bodyStoreAttempts: bodies.bodyStoreAttempts,
      schemaFiles: events.files,
      schemaIds: new Map(events.registered.map((schema) => [schema.file, ids.of(schema)])),
      topicPrefix: prefix,
      layout,
    };
    const large = startLargeBodies({ worker, memory, delivery: ports, kafkaTokens: kafka.tokens }, context);
    const storing = { publisher: traced(publisher, tracer), publishDeadlineMs, large, keysKnown };
    const store = openStore({ delivery: ports, ...storing }, spool, context);
    const delivery = { observer: ports.observer, store: traceStore(store.store, tracer) };
    await startIngressServer({ settings: config.ingress, keyring, delivery, memory, large, files }, context);
    gate.open();
  },
});
