#!/usr/bin/env node

import '../runtime/keep-garbage-young.ts';
import { readEventSchemas } from '../avro/event-schema.ts';
import { openRegistry } from '../avro/open-registry.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import { readCommandSchemas, readSchemaFiles } from '../avro/schema-files.ts';
import { nodeSource } from '../config/env.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { readSealingKeys } from '../crypto/sealing.ts';
import { createEventRoutes } from '../delivery/event-routes.ts';
import { deliveryTopics, openDelivery } from '../delivery/open-delivery.ts';
import { openSpool, reportSpool, storeInKafka, storeWithSpool } from '../delivery/store/open-store.ts';
import { observeTopicSafety, TopicSafety } from '../kafka/admin/watch-safety.ts';
import { observePublishing, openKafka, openPublisher } from '../kafka/open-kafka.ts';
import { createProbes, startAdminServer } from '../runtime/admin-server.ts';
import { systemClock } from '../runtime/clock.ts';
import { clientLog, createLogger, filesLog } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { configOrExit, createStartGate, observeProcess, runProcess } from '../runtime/process-shell.ts';
import { BodyMemory } from './body/body-memory.ts';
import { memoryShares } from './body/memory-shares.ts';
import { loadIngressConfig } from './config.ts';
import { startIngressServer } from './ingress-server.ts';
import { startLargeLane } from './large-body/large-body-worker.ts';
import { createIngressObserver, observeDelivery, watchMemory } from './observe-ingress.ts';
import { startKeyring } from './start-keyring.ts';
import { keepBeside, reachTopics } from './start-without-kafka.ts';
import { startTracing, traced, traceStore } from './tracing.ts';

/** Bytes of records that may wait for the brokers; more are answered 503. */
const BACKLOG_BYTES = 128 * 1024 * 1024;

/** As many partitions may be slow before those of the others wait: as one is that takes in a large body. */
const PUBLISHING_SESSIONS = 8;

const config = configOrExit(() => loadIngressConfig(nodeSource(process.env)));
const events = configOrExit(() => readEventSchemas(readSchemaFiles(config.schemas.dir, 'events')));
const commands = configOrExit(() => readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands')));
const { sealingKeyFile } = config.subscriptions;
const sealingKeys = configOrExit(() =>
  sealingKeyFile === undefined ? undefined : readSealingKeys(sealingKeyFile),
);
const logger = createLogger({ name: 'hookline-ingress', level: config.runtime.logLevel });
const files = filesLog(logger);
const registry = configOrExit(() => openRegistry(config.registry, files));
const kafka = configOrExit(() =>
  openKafka({
    ...{ settings: config.kafka, files, clock: systemClock },
    ...{ clientId: 'hookline-ingress', log: clientLog(logger) },
  }),
);

await runProcess({
  logger,
  stopDeadlineMs: config.runtime.stopDeadlineMs,
  start: async (parts) => {
    const { ingress, topics } = config;
    const named = (topic: string) => topicName(topics.prefix, topic);
    const metrics = createMetrics();
    const probes = createProbes();
    const { adminHost: host, adminPort: port } = config.runtime;
    parts.add('process', observeProcess({ metrics, probes }));
    const admin = parts.add('admin', await startAdminServer({ host, port, probes, metrics }));
    logger.info({ port: admin.port }, 'admin listening');

    const tracer = await startTracing(config.tracing, logger, parts);
    const spool = await openSpool(config.spool, sealingKeys, parts.fail);
    if (spool) parts.add('spool', { stop: () => spool.close() });
    if (spool) reportSpool({ logger, spool, isSealed: sealingKeys !== undefined });
    metrics.spoolMaxBytes.set(spool ? config.spool.maxBytes : 0);
    const gate = createStartGate({ logger, probes, stopping: parts.stopping });
    const beside = keepBeside({ dir: config.spool.dir, registry, prefix: topics.prefix, logger });
    const ids = await gate.pass('the schema registry', () =>
      beside.schemaIds([...events.all, commands.subscription]),
    );
    const routes = createEventRoutes(events, topics.prefix, ids);
    const eventTopics = deliveryTopics(routes, topics.prefix);
    const safety = parts.add(
      'topic safety',
      new TopicSafety({
        ...{ kafka: kafka.client, topics: eventTopics, least: config.durability.minInsyncReplicas },
        observer: observeTopicSafety({ logger, metrics }),
      }),
    );
    const allTopics = [...eventTopics, named(OWN_TOPICS.subscriptions)];
    const isKafkaThere = await gate.pass('topics', () =>
      reachTopics(kafka.client, allTopics, safety, spool !== undefined),
    );
    safety.watch();
    probes.readyWhen('topics', () => safety.trouble());
    // What is done about Kafka while events are already spooled is none of readiness's business.
    const kafkaGate = isKafkaThere
      ? gate
      : createStartGate({ logger, probes: createProbes(), stopping: parts.stopping });

    const { keyring, topicRead } = parts.add(
      'keyring',
      await startKeyring({
        settings: config.subscriptions,
        sealingKeys,
        kafka: kafka.client,
        topic: named(OWN_TOPICS.subscriptions),
        read: createRecordReader(commands.subscription.codec, ids.of(commands.subscription), registry),
        logger,
        metrics,
        gate: kafkaGate,
        stopping: parts.stopping,
        ...beside.subscriptions,
      }),
    );
    if (isKafkaThere) await topicRead;
    const delivery = openDelivery({
      ...{ routes, prefix: topics.prefix, layout: ingress.layout },
      encryptionKeysOf: (ref) => keyring.encryptionKeysOf(ref),
      openPublisher: (names) =>
        openPublisher(kafka, names, {
          sessions: PUBLISHING_SESSIONS,
          backlogBytes: BACKLOG_BYTES,
          observer: observePublishing({ logger, metrics }),
        }),
      observer: observeDelivery(metrics),
    });
    await delivery.limits.renew();
    const publisher = parts.add('publisher', delivery.publisher);
    metrics.samplers.add(() => metrics.publishBacklog.set(publisher.backlogBytes));
    if (isKafkaThere) await gate.pass('the brokers', () => publisher.open(eventTopics));
    const observer = parts.add('observer', createIngressObserver({ logger, metrics }));
    const { publishDeadlineMs, admissionWaitMs, largeBodyBytesPerSecond: bytesPerSecond } = ingress;
    const shares = memoryShares(ingress.memoryBudgetBytes, ingress.maxBodyBytes);
    const memory = new BodyMemory({ ...shares, admissionWaitMs, bytesPerSecond, clock: systemClock });
    watchMemory(memory, metrics);
    const large = parts.add(
      'large bodies',
      startLargeLane({
        options: {
          ...{ kafka: config.kafka, schemasDir: config.schemas.dir, topicPrefix: topics.prefix },
          layout: ingress.layout,
          schemaIds: new Map(events.all.map((schema) => [schema.file, ids.of(schema)])),
        },
        ...{ atWork: shares.atWork, encryptionKeysOf: delivery.ports.encryptionKeysOf },
        ...{ delivery: delivery.ports.observer, logger, metrics },
      }),
    );
    const storeParts = {
      delivery: delivery.ports,
      publisher: traced(publisher, tracer),
      publishDeadlineMs,
      large,
      clock: systemClock,
    };
    const store = parts.add(
      'store',
      spool ? storeWithSpool({ ...storeParts, spool, logger, metrics }) : storeInKafka(storeParts),
    );
    probes.readyWhen(spool ? 'storage' : 'kafka', () => store.trouble());
    const server = await startIngressServer({
      settings: ingress,
      logger,
      observer,
      keyring,
      memory,
      clock: systemClock,
      delivery: { observer: delivery.ports.observer, store: traceStore(store.store, tracer) },
    });
    parts.add('http', server);
    metrics.samplers.add(() => metrics.connectionsOpen.set(server.connections()));
    logger.info({ url: server.url }, 'listening');
    gate.open();
    large.warm();
  },
});
