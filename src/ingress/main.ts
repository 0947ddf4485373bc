#!/usr/bin/env node
import { readCommandSchemas } from '../avro/command-schemas.ts';
import { readEventSchemas } from '../avro/event-schema-set.ts';
import { openRegistry } from '../avro/open-registry.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import { resolveSchemaIds } from '../avro/resolve-ids.ts';
import { readSchemaFiles } from '../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../core/topics.ts';
import { certificateEnd } from '../crypto/certificate.ts';
import { createEventRoutes } from '../delivery/event-routes.ts';
import { checkTopics } from '../kafka/check-topics.ts';
import { openKafka } from '../kafka/open-kafka.ts';
import { Publisher } from '../kafka/publisher.ts';
import { createTopicLimits } from '../kafka/topic-limits.ts';
import { startAdminServer } from '../runtime/admin-server.ts';
import { clientLog, createLogger, filesLog } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { nodeSource } from '../runtime/node-source.ts';
import { createProbes } from '../runtime/probes.ts';
import { configOrExit, runProcess } from '../runtime/process-shell.ts';
import { watchPublishing } from '../runtime/publisher-metrics.ts';
import { createStartGate } from '../runtime/start-gate.ts';
import { readSealingKeys } from '../subscriptions/follow-keys.ts';
import { loadIngressConfig } from './config.ts';
import { createIngressObserver } from './ingress-observer.ts';
import { startIngressServer } from './ingress-server.ts';
import { observeDelivery } from './observe-delivery.ts';
import { startKeyring } from './start-keyring.ts';
import { openSpool, storeInKafka, storeWithSpool } from './start-store.ts';

/** Bytes of records that may wait for the brokers; more are answered 503. */
const BACKLOG_BYTES = 128 * 1024 * 1024;

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
    ...{ settings: config.kafka, files, certificateEnd },
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
    const admin = parts.add('admin', await startAdminServer({ host, port, probes, metrics }));
    logger.info({ port: admin.port }, 'admin listening');

    const spool = await openSpool(config.spool, parts.fail);
    if (spool) parts.add('spool', { stop: () => spool.close() });
    const gate = createStartGate({ logger, probes, stopping: parts.stopping });
    const ids = await gate.pass('the schema registry', () =>
      resolveSchemaIds(registry, topics.prefix, [...events.all, commands.subscription]),
    );
    const routes = createEventRoutes(events, topics.prefix, ids);
    const eventTopics = [...routes.all.map((route) => route.topic), named(OWN_TOPICS.deadLetter)];
    await gate.pass('topics', () =>
      checkTopics(kafka.client, [...eventTopics, named(OWN_TOPICS.subscriptions)]),
    );

    const { keyring } = parts.add(
      'keyring',
      await startKeyring({
        settings: config.subscriptions,
        sealingKeys,
        kafka: kafka.client,
        topic: named(OWN_TOPICS.subscriptions),
        read: createRecordReader(commands.subscription.codec, ids.of(commands.subscription), registry),
        logger,
        gate,
        stopping: parts.stopping,
      }),
    );
    const limits = createTopicLimits(kafka.client, eventTopics);
    await limits.renew();
    const publisher = parts.add(
      'publisher',
      new Publisher({
        openSession: kafka.openSession,
        backlogBytes: BACKLOG_BYTES,
        limits,
        observer: watchPublishing({ logger, metrics }),
      }),
    );
    metrics.samplers.add(() => metrics.publishBacklog.set(publisher.backlogBytes));
    await gate.pass('the brokers', () => publisher.open(eventTopics));
    const observer = parts.add('observer', createIngressObserver({ logger, metrics }));
    const delivery = {
      layout: ingress.layout,
      routes,
      deadLetterTopic: named(OWN_TOPICS.deadLetter),
      encryptionKeysOf: (ref: string) => keyring.encryptionKeysOf(ref),
      limitOf: limits.of,
      observer: observeDelivery(metrics),
    };
    const { publishDeadlineMs } = ingress;
    const storeParts = { delivery, publisher, publishDeadlineMs };
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
      delivery: { observer: delivery.observer, store: store.store },
    });
    parts.add('http', server);
    logger.info({ url: server.url }, 'listening');
    gate.open();
  },
});
