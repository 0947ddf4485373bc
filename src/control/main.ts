#!/usr/bin/env node

import '../runtime/keep-heap-small.ts';
import { openRegistry } from '../avro/open-registry.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import { resolveSchemaIds } from '../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../avro/schema-files.ts';
import { overlapsOf, refPatternsOf } from '../config/command-topics.ts';
import { nodeSource } from '../config/env.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { newId } from '../crypto/ids.ts';
import { readSealingKeys } from '../crypto/sealing.ts';
import { watchLag } from '../kafka/admin/consumer-lag.ts';
import { checkTopics, observeTopicSafety, TopicSafety } from '../kafka/admin/watch-safety.ts';
import { readInGroup } from '../kafka/consume/group-reader.ts';
import { observePublishing, openKafka } from '../kafka/open-kafka.ts';
import { Publisher } from '../kafka/produce/publisher.ts';
import { openProvider } from '../provider/open-provider.ts';
import { createProbes, startAdminServer } from '../runtime/admin-server.ts';
import { systemClock } from '../runtime/clock.ts';
import { clientLog, createLogger, filesLog } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { configOrExit, createStartGate, observeProcess, runProcess } from '../runtime/process-shell.ts';
import { readDirSecrets } from '../subscriptions/secrets-dir.ts';
import { claimState } from './claim-state.ts';
import { loadControlConfig } from './config.ts';
import { createControlRecords } from './control-records.ts';
import { followState } from './follow-state.ts';
import { observeControl } from './observe-control.ts';
import { createCommandReader, keysOf } from './read-command.ts';
import { ReportedDrift } from './reconciler/reported-drift.ts';
import { openReconciler } from './reconciler/start-reconciler.ts';
import { type ControlDeps, runCommand } from './run-command.ts';

/** Bytes of records that may wait for the brokers: results and state are small. */
const BACKLOG_BYTES = 16 * 1024 * 1024;
const NO_SECRETS = { subscriptionIds: [], signingSecrets: [], encryptionKeys: [] };

const config = configOrExit(() => loadControlConfig(nodeSource(process.env)));
const schemas = configOrExit(() => readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands')));
const sealingKeys = configOrExit(() => readSealingKeys(config.control.sealingKeyFile));
const logger = createLogger({ name: 'hookline-control', level: config.runtime.logLevel });
const files = filesLog(logger);
const registry = configOrExit(() => openRegistry(config.registry, files));
const kafka = configOrExit(() =>
  openKafka({
    ...{ settings: config.kafka, files, clock: systemClock },
    ...{ clientId: 'hookline-control', log: clientLog(logger) },
  }),
);

await runProcess({
  logger,
  stopDeadlineMs: config.runtime.stopDeadlineMs,
  start: async (parts) => {
    const { prefix } = config.topics;
    const named = (topic: string) => topicName(prefix, topic);
    const commandTopics = config.commandTopics.map(({ name }) => name);
    const metrics = createMetrics();
    const probes = createProbes();
    const { adminHost: host, adminPort: port } = config.runtime;
    const admin = parts.add('admin', await startAdminServer({ host, port, probes, metrics }));
    logger.info({ port: admin.port }, 'admin listening');
    parts.add('process', observeProcess({ metrics, probes }));
    const observe = observeControl({ logger, metrics });

    const gate = createStartGate({ logger, probes, stopping: parts.stopping });
    const ids = await gate.pass('the schema registry', () =>
      resolveSchemaIds(registry, prefix, Object.values(schemas)),
    );
    const own = [OWN_TOPICS.results, OWN_TOPICS.subscriptions, OWN_TOPICS.deadLetter].map(named);
    const safety = parts.add(
      'topic safety',
      new TopicSafety({
        ...{ kafka: kafka.client, topics: own, least: config.durability.minInsyncReplicas },
        observer: observeTopicSafety({ logger, metrics }),
      }),
    );
    await gate.pass('topics', () => checkTopics(kafka.client, [...commandTopics, ...own], safety));
    safety.watch();
    probes.readyWhen('topics', () => safety.trouble());

    const publisher = parts.add(
      'publisher',
      new Publisher({
        clock: kafka.clock,
        openSession: kafka.openSession,
        backlogBytes: BACKLOG_BYTES,
        observer: observePublishing({ logger, metrics }),
      }),
    );
    await gate.pass('the brokers', () => publisher.open(own));
    probes.readyWhen('kafka', () => publisher.trouble());

    const readerOf = (schema: (typeof schemas)['result']) =>
      createRecordReader(schema.codec, ids.of(schema), registry);
    const reported = new ReportedDrift();
    const state = parts.add(
      'state',
      await followState({
        kafka: kafka.client,
        subscriptions: { topic: named(OWN_TOPICS.subscriptions), read: readerOf(schemas.subscription) },
        results: { topic: named(OWN_TOPICS.results), read: readerOf(schemas.result) },
        onDrift: (fields) => reported.take(fields),
        onUnreadable: observe.unreadable,
        onAwaited: observe.awaited,
        onBrokenOff: observe.brokenOff,
      }),
    );
    const provider = parts.add(
      'provider',
      openProvider({
        settings: config.provider,
        newId,
        onNarrowerScope: observe.narrowerScope,
        onRequest: observe.request,
        onToken: observe.tokenObtained,
        onAway: observe.away,
      }),
    );
    metrics.samplers.add(() => observe.subscriptions(state.subscriptions.all()));
    const { secretsDir, retiredKeysTtlMs } = config.subscriptions;
    const { dialect } = config.provider;
    const { publicUrl, commandDeadlineMs, groupId, sessionTimeoutMs } = config.control;
    const records = createControlRecords({
      ...{ publisher, prefix, schemas, ids, sessionTimeoutMs },
      ...{ onDelay: observe.delayed, onParked: observe.parked },
    });
    const claim = claimState({
      ...{ table: state.subscriptions, records, newId },
      ...{ onClaimed: observe.claimed, onFenced: observe.fenced, onFailure: observe.notClaimed },
    });
    const control: ControlDeps = {
      ...{ call: provider.call, dialect, publicUrl, commandDeadlineMs, retiredKeysTtlMs, sealingKeys },
      subscriptions: state.subscriptions,
      finished: state.finished,
      readCommand: createCommandReader(readerOf(schemas.command)),
      records,
      acquireState: claim.acquire,
      dirSecrets: async (ref: string) =>
        secretsDir === undefined ? NO_SECRETS : readDirSecrets(secretsDir, ref),
      refPatterns: (topic) => refPatternsOf(config.commandTopics, topic),
      observe: observe.finished,
      unnamed: observe.unnamed,
    };
    const settings = config.control;
    const reconciler = parts.add(
      'reconciler',
      openReconciler({ control, settings, commandTopics, publisher, observe, reported, clock: systemClock }),
    );
    const commands = parts.add(
      'commands',
      await readInGroup({
        kafka: kafka.client,
        ...{ groupId, topics: commandTopics, sessionTimeoutMs },
        keysOf: (record) => keysOf(record, control.readCommand),
        handle: (record, lease) => runCommand(record, control, lease),
        onError: observe.failed,
        onWorking: (lease) => {
          observe.working(lease !== null);
          claim.working(lease);
          reconciler.working(lease);
        },
        onRefused: observe.refused,
        onFatal: parts.fail,
      }),
    );
    const lagParts = { kafka: kafka.client, groupId, topics: commandTopics };
    parts.add('lag', watchLag({ ...lagParts, onLag: observe.lag, onFailure: observe.lagUnknown }));
    probes.aliveWhen('consumer', () => observe.silence(commands.silentFor()));
    for (const overlap of overlapsOf(config.commandTopics))
      logger.warn(
        `COMMAND_TOPICS: ${overlap} share refs, and the first creator owns: make the patterns distinct`,
      );
    logger.info({ topics: commandTopics }, 'reading commands');
    gate.open();
  },
});
