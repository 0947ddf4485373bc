import { readEventSchemas } from '../../avro/event-schema-set.ts';
import { readSchemaFiles } from '../../avro/schema-files.ts';
import { envReader } from '../../core/env.ts';
import { topicSpecs } from '../../kafka/topic-specs.ts';
import { countBrokers, planTopics, type TopicPlan } from '../../kafka/topics.ts';
import { withAdmin } from '../../kafka/with-admin.ts';
import { commandTopicSettings, maxBodySettings } from '../cli-settings.ts';
import { connectKafka, loadCliConfig } from '../connections.ts';
import { type Examination, type Finding, failure, fault, ok, warning } from './finding.ts';

/** Whether brokers answer, and whether the topics are as they should be. */
export const examineKafka: Examination = async (shell) => {
  const config = loadCliConfig(shell);
  const reader = envReader(shell.source);
  const { commandTopics } = reader.read(commandTopicSettings(config.topics.prefix));
  const { maxBodyBytes } = reader.read(maxBodySettings);
  reader.done({});
  const events = readEventSchemas(readSchemaFiles(config.schemas.dir, 'events')).all;
  const kafka = connectKafka(config);
  try {
    return await withAdmin(kafka.client, async (admin) => {
      const brokers = await countBrokers(admin);
      const plans = await planTopics(
        admin,
        topicSpecs({
          prefix: config.topics.prefix,
          eventTopics: events.map(({ topic }) => topic),
          commandTopics,
          partitions: 6,
          replicationFactor: Math.min(3, brokers),
          maxBodyBytes,
        }),
      );
      return [ok('brokers', `${brokers} answer(s)`), ...plans.map(judgeTopic)];
    });
  } catch (error) {
    const mend = 'check KAFKA_BROKERS, the network, and the TLS and SASL settings';
    return [failure('brokers', error, mend)];
  }
};

function judgeTopic({ spec, action, changes, notes }: TopicPlan): Finding {
  const check = `topic ${spec.name}`;
  if (action === 'create') return fault(check, 'does not exist', 'hookline topics apply');
  const differences = changes.map(
    ({ setting, is, wanted }) => `${setting} is ${is || 'unset'}, should be ${wanted}`,
  );
  if (differences.length > 0) return warning(check, differences.join('; '), 'hookline topics apply');
  return notes.length > 0
    ? warning(check, notes.join('; '), 'see the finding')
    : ok(check, 'as it should be');
}
