import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { describeConfigs, withAdmin } from '../../kafka/admin/describe-topics.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import { type Config, connectBodyStore, connectKafka, loadConfig } from '../shell/connections.ts';
import { TOPIC_GROUPS, topicsOf } from '../shell/schemas-and-topics.ts';
import { type Check, type Finding, failure, ok, skipped, warning } from './finding.ts';

const REMEDY = 'check BODY_STORE, BODY_STORE_ENDPOINT, the credentials and their rights, and the network';
const DAY_MS = 86_400_000;
const ANSWER_MS = 10_000;

/** Whether the object store takes an object and gives it back, and keeps objects as long as Kafka keeps records. */
export const checkBodyStore: Check = async (shell) => {
  const config = loadConfig(shell, 'kafka', 'bodyStore', ...TOPIC_GROUPS);
  const bodies = await connectBodyStore(config);
  if (!bodies) return [skipped('object store', 'BODY_STORE is not set: every record holds its message')];
  try {
    return [await writeAndRead(bodies), await compareRetention(bodies, config)];
  } catch (error) {
    return [failure('object store', error, REMEDY)];
  } finally {
    bodies.close();
  }
};

async function writeAndRead(bodies: BodyStore): Promise<Finding> {
  const object = bodies.checkObject(`hookline-doctor-${newId()}.json`);
  const { uri, sha256 } = object;
  await bodies.write(object);
  await bodies.read({ uri, sha256, bytes: object.bytes.length });
  // A right that nothing else needs: without it the small object stays.
  await bodies.store.remove(bodies.keyOf(uri), AbortSignal.timeout(ANSWER_MS)).catch(() => {});
  return ok('object store', 'an object was written, read and verified');
}

async function compareRetention(
  bodies: BodyStore,
  config: Config<'kafka' | (typeof TOPIC_GROUPS)[number]>,
): Promise<Finding> {
  const check = 'object retention';
  const { prefix } = bodies.address;
  const days = await bodies.store
    .expiryDays(prefix === '' ? '' : `${prefix}/`, AbortSignal.timeout(ANSWER_MS))
    .catch((error: Error) => error);
  if (days instanceof Error)
    return skipped(check, `the lifecycle rules of the bucket cannot be read: ${days.message}`);
  if (days === null) return ok(check, 'no lifecycle rule deletes objects');
  const longest = await longestRetention(config);
  if (longest.ms >= 0 && longest.ms <= days * DAY_MS)
    return ok(check, `objects are kept for ${days} days, records for at most ${longest.ms / DAY_MS}`);
  const kept = longest.ms < 0 ? 'without end' : `for ${longest.ms / DAY_MS} days`;
  const finding = `a lifecycle rule deletes objects after ${days} days, but ${longest.topic} keeps records ${kept}`;
  return warning(check, finding, 'lengthen the lifecycle rule, or shorten retention.ms of the topic');
}

/** Of the topics whose records refer to objects. -1: without end. */
async function longestRetention(
  config: Config<'kafka' | (typeof TOPIC_GROUPS)[number]>,
): Promise<{ readonly topic: string; readonly ms: number }> {
  const { prefix } = config.topics;
  const { deadLetter, ...others } = OWN_TOPICS;
  const own = Object.values(others).map((name) => topicName(prefix, name));
  const holding = new Set([...own, ...config.commands.topics.map(({ name }) => name)]);
  const names = topicsOf(config, { partitions: 1, replicationFactor: 1 })
    .map(({ name }) => name)
    .filter((name) => !holding.has(name));
  const configs = await withAdmin(connectKafka(config).client, (admin) =>
    describeConfigs(admin, names, ['retention.ms']),
  );
  const all = [...configs].map(([topic, settings]) => ({
    topic,
    ms: Number(settings.get('retention.ms') ?? -1),
  }));
  const endless = all.find(({ ms }) => ms < 0);
  return endless ?? all.toSorted((a, b) => b.ms - a.ms)[0] ?? { topic: 'no topic', ms: 0 };
}
