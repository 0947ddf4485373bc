import { type CommandTopic, overlapsOf } from '../../config/command-topics.ts';
import { hasCode } from '../../core/errors.ts';
import { withAdmin } from '../../kafka/admin/describe-topics.ts';
import { foreignMember } from '../../kafka/admin/group-members.ts';
import { assessSafety, readSafety, type SafetyAssessment } from '../../kafka/admin/topic-safety.ts';
import { countBrokers, planTopics, type TopicPlan } from '../../kafka/admin/topics.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { CLI_GROUPS, connectKafka, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, failure, fault, ok, warning } from '../shell/finding.ts';
import { TOPIC_GROUPS, topicsOf } from '../shell/schemas-and-topics.ts';

/** Whether brokers answer, topics have the right settings, and cannot lose acknowledged records. */
export const checkKafka: Check = async (shell) => {
  const config = loadConfig(shell, ...CLI_GROUPS, ...TOPIC_GROUPS, 'control');
  const { minInsyncReplicas } = config.durability;
  const commandTopics = config.commands.topics;
  const kafka = connectKafka(config);
  try {
    return await withAdmin(kafka.client, async (admin) => {
      const brokers = await countBrokers(admin);
      const specs = topicsOf(config, { partitions: 6, replicationFactor: Math.min(3, brokers) });
      const plans = await planTopics(admin, specs, { allowDataLoss: false, minInsyncReplicas });
      const written = plans
        .filter(({ action, leaderless }) => action !== 'create' && leaderless === null)
        .map(({ spec }) => spec.name)
        .filter((name) => !commandTopics.some((topic) => topic.name === name));
      const readings = await readSafety(admin, written);
      const findings = plans.map((plan) => {
        const reading = readings.get(plan.spec.name);
        const isState = plan.spec.config['cleanup.policy'] === 'compact';
        return assessTopic(plan, reading && assessSafety(reading, minInsyncReplicas, { isState }));
      });
      return [
        ok('brokers', `${brokers} answer(s)`),
        ...findings,
        ...assessPatterns(commandTopics),
        ...(await assessGroup(kafka, config.control.groupId, commandTopics)),
      ];
    });
  } catch (error) {
    if (hasCode(error, 'SCHEMA_INVALID')) throw error;
    const remedy = 'check KAFKA_BROKERS, the network, and the TLS and SASL settings';
    return [failure('brokers', error, remedy)];
  }
};

const assessPatterns = (topics: readonly CommandTopic[]): Finding[] =>
  overlapsOf(topics).map((overlap) =>
    warning(
      'COMMAND_TOPICS',
      `${overlap} share refs: the topic that creates a ref first owns it`,
      'make the patterns distinct',
    ),
  );

/** Who may not see the group knows nothing of it: control itself says what it finds there. */
async function assessGroup(
  kafka: KafkaAccess,
  groupId: string,
  topics: readonly CommandTopic[],
): Promise<Finding[]> {
  const names = topics.map(({ name }) => name);
  const why = await foreignMember(kafka.client, groupId, names).catch(() => null);
  const remedy = 'give each installation on these brokers a CONTROL_GROUP_ID of its own';
  return why === null ? [] : [fault('CONTROL_GROUP_ID', why, remedy)];
}

function assessTopic(
  { spec, action, changes, notes, leaderless }: TopicPlan,
  safety?: SafetyAssessment,
): Finding {
  const check = `topic ${spec.name}`;
  // The brokers list no topic that this user has no right to.
  if (action === 'create')
    return fault(
      check,
      'does not exist, or this user has no right to it',
      'hookline topics apply, or grant it',
    );
  if (leaderless !== null) return fault(check, leaderless.finding, leaderless.remedy);
  if (safety && safety.faults.length > 0)
    return fault(check, `TOPICS_UNSAFE: ${safety.faults.join('; ')}`, safety.remedies.join('; '));
  const differences = changes.map(
    ({ setting, is, wanted }) => `${setting} is ${is || 'unset'}, should be ${wanted}`,
  );
  const others = [...notes, ...(safety?.warnings ?? [])];
  if (differences.length > 0)
    return warning(check, [...differences, ...others].join('; '), 'hookline topics apply');
  return others.length > 0
    ? warning(check, others.join('; '), 'see the finding')
    : ok(check, 'as it should be');
}
