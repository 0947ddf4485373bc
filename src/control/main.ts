#!/usr/bin/env node
import { commandSchemasIn } from '../avro/command-schemas.ts';
import { openRegistry } from '../avro/open-registry.ts';
import { watchedIds } from '../avro/watch-ids.ts';
import { overlapsOf } from '../config/command-topics.ts';
import { nodeSource } from '../config/env.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { newId } from '../crypto/ids.ts';
import { observeOpenCount } from '../dead-letters/observe-open-count.ts';
import { watchLag } from '../kafka/admin/consumer-lag.ts';
import { foreignMember } from '../kafka/admin/group-members.ts';
import { tellUnreadGaps } from '../kafka/admin/unread-gaps.ts';
import { awaitTopics } from '../kafka/admin/watch-safety.ts';
import { readInGroup } from '../kafka/consume/group-reader.ts';
import { observePublishing, openKafka } from '../kafka/open-kafka.ts';
import { Publisher } from '../kafka/produce/publisher.ts';
import { openProvider } from '../provider/open-provider.ts';
import { systemClock as clock } from '../runtime/clock.ts';
import type { Components } from '../runtime/components.ts';
import { clientLog, createLogger } from '../runtime/logger.ts';
import { observeFiles } from '../runtime/observe-files.ts';
import { configOrExit, openContext, runProcess } from '../runtime/process-shell.ts';
import { openSealingKeys } from '../runtime/sealing-key-file.ts';
import { limitHeapGrowth } from '../runtime/v8-flags.ts';
import { secretsIn } from '../subscriptions/secrets-dir.ts';
import { observeTokens } from '../tokens/observe-tokens.ts';
import { controlConfig, loadControlConfig } from './config.ts';
import { followState } from './follow-state.ts';
import { observeControl } from './observe-control.ts';
import { openControl } from './open-control.ts';

/** Bytes of records that may wait for the brokers: results and state are small. */
const BACKLOG_BYTES = 16 * 1024 * 1024;

limitHeapGrowth();
const config = configOrExit(() => loadControlConfig(nodeSource(process.env)));
const schemas = configOrExit(() => commandSchemasIn(config.schemas.dir));
const logger = createLogger({ name: 'hookline-control', level: config.runtime.logLevel });
const files = observeFiles(logger);
const tokenLog = observeTokens(logger);
const client = { clientId: 'hookline-control', log: clientLog(logger), clock, files, tokenLog };
const sealingKeys = configOrExit(() => openSealingKeys(config.control.sealingKeyFile, client));
const registry = configOrExit(() => openRegistry(config.registry, client));
const access = configOrExit(() => openKafka({ settings: config.kafka, ...client }));

const { stopDeadlineMs } = config.runtime;
const { groupId, sessionTimeoutMs } = config.control;
const { client: kafka, openSession, openTopic } = access;
const topics = config.commandTopics.map(({ name }) => name);
const { prefix } = config.topics;
const named = (topic: string) => topicName(prefix, topic);
const compacted = [named(OWN_TOPICS.subscriptions)];
const ownTopics = [...[OWN_TOPICS.results, OWN_TOPICS.deadLetter].map(named), ...compacted];

/** The components, in the order in which they start; they stop in reverse. */
async function start(components: Components): Promise<void> {
  const { add, fail } = components;
  const context = await openContext({ logger, clock, components }, config.runtime);
  const { metrics, probes, gate } = context;
  const observe = observeControl({ logger, metrics, clock });
  for (const log of [files, tokenLog]) log.report(metrics);

  const ids = await gate.pass('the schema registry', () =>
    watchedIds({ registry, prefix }, Object.values(schemas), context),
  );
  await awaitTopics({ kafka, written: ownTopics, others: topics, compacted, ...config.durability }, context);

  const group = { kafka, openTopic, groupId, topics, sessionTimeoutMs, clock };
  const publishing = { clock, backlogBytes: BACKLOG_BYTES, observer: observePublishing({ logger, metrics }) };
  const publisher = add('publisher', new Publisher({ openSession, ...publishing }));
  await gate.pass('the brokers', () => publisher.open(ownTopics));
  probes.readyWhen('kafka', () => publisher.trouble());

  const stored = { openTopic, prefix, schemas, ids, registry, clock, ...observe.state };
  const state = add('state', await gate.pass('the state', () => followState(stored)));
  probes.readyWhen('state', () => observe.refused());
  metrics.samplers.add(() => observe.subscriptions(state.subscriptions.all()));

  const calling = { settings: config.provider, clock, files, tokenLog, newId, ...observe.provider };
  const { call } = add('provider', openProvider(calling));
  const openDeadLetters = add('open dead-letter records', observeOpenCount(access, config, context));
  const opened = { schemas, ids, registry, publisher, state, call, openDeadLetters };
  const dirSecrets = secretsIn(config.subscriptions.secretsDir);
  const control = add('control', openControl({ ...opened, config, sealingKeys, dirSecrets, observe, clock }));
  await tellUnreadGaps(group, observe, context);
  const reading = { ...group, ...control, ...observe.reader, onFatal: fail };
  const commands = add('commands', await gate.pass('the commands', () => readInGroup(reading)));
  probes.readyWhen('commands', () => commands.trouble());
  probes.aliveWhen('consumer', () => observe.silence(commands.silentFor()));
  add('lag', watchLag({ ...group, ...observe.lag }));
  for (const overlap of overlapsOf(config.commandTopics)) observe.overlap(overlap);
  foreignMember(kafka, groupId, topics).then(observe.foreignMember, () => {});
  logger.info({ topics }, 'reading commands');
  gate.open();
}

await runProcess({ logger, groups: controlConfig, config, env: process.env, stopDeadlineMs, start });
