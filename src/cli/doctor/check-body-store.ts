import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { describeConfigs, withAdmin } from '../../kafka/admin/describe-topics.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import type { ExpiryRule } from '../../object-store/object-store.ts';
import { type Config, connectBodyStore, connectKafka, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, failure, fault, ok, skipped, warning } from '../shell/finding.ts';
import { TOPIC_GROUPS, topicsOf } from '../shell/schemas-and-topics.ts';

const REMEDY = 'check BODY_STORE, BODY_STORE_ENDPOINT, the credentials and their rights, and the network';
const DAY_MS = 86_400_000;
const ANSWER_MS = 10_000;

/** Whether the object store takes an object and gives it back, and keeps objects as long as Kafka keeps records. */
export const checkBodyStore: Check = async (shell) => {
  const config = loadConfig(shell, 'kafka', 'bodyStore', ...TOPIC_GROUPS);
  const bodies = await connectBodyStore(config);
  if (!bodies) return [skipped('object store', 'BODY_STORE is not set: every record holds its message')];
  try {
    return [await writeAndRead(bodies), ...(await compareRetention(bodies, config))];
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

type RetentionConfig = Config<'kafka' | (typeof TOPIC_GROUPS)[number]>;

async function compareRetention(bodies: BodyStore, config: RetentionConfig): Promise<Finding[]> {
  const rules = await bodies.store.expiryRules(AbortSignal.timeout(ANSWER_MS)).catch((error: Error) => error);
  if (rules instanceof Error)
    return [skipped(CHECK, `the lifecycle rules of the bucket cannot be read: ${rules.message}`)];
  if (rules.length === 0) return [KEPT];
  return compareLifetimes(rules, await topicLifetimes(config), bodies.address.prefix);
}

const CHECK = 'object retention';
const KEPT = ok(CHECK, 'no lifecycle rule deletes or archives objects');

/** How long records of a topic can live. */
export type TopicLifetime = {
  readonly topic: string;
  /** Infinity: without end. */
  readonly retentionMs: number;
  readonly segmentMs: number;
};

/**
 * Whether each object lives longer than the record that refers to it. Kafka deletes whole segments, when their newest record is
 * older than retention.ms: the oldest one is older by then, by up to segment.ms.
 * @param prefix that of BODY_STORE
 */
export function compareLifetimes(
  rules: readonly ExpiryRule[],
  topics: readonly TopicLifetime[],
  prefix: string,
): Finding[] {
  let isAnyDeleted = false;
  const findings = rules.flatMap((rule) => {
    const covered = topics.filter(({ topic }) => covers(rule.prefix, [prefix, topic, ''].join('/')));
    isAnyDeleted ||= covered.length > 0;
    const [longest] = covered.toSorted((a, b) => lifetimeOf(b) - lifetimeOf(a));
    return longest ? findingOf(rule, longest) : [];
  });
  if (findings.length > 0) return findings;
  return [isAnyDeleted ? ok(CHECK, 'lifecycle rules delete or archive objects after their records') : KEPT];
}

/** Whether a rule is about objects of a folder, all or some. */
function covers(prefix: string, folder: string): boolean {
  const key = folder.replace(/^\//, '');
  return key.startsWith(prefix) || prefix.startsWith(key);
}

const lifetimeOf = ({ retentionMs, segmentMs }: TopicLifetime) => retentionMs + segmentMs;
const daysOf = (ms: number) => Number((ms / DAY_MS).toFixed(2));

const whatItDoes = ({ archive }: ExpiryRule, what: string): string =>
  archive === undefined ? `deletes ${what}` : `moves ${what} to ${archive}, where they cannot be read,`;

function findingOf(rule: ExpiryRule, longest: TopicLifetime): Finding[] {
  const name = `lifecycle rule ${JSON.stringify(rule.id)}`;
  if ('from' in rule) {
    const from = rule.from.toISOString().slice(0, 10);
    const finding = `${name} ${whatItDoes(rule, 'every object')} below ${JSON.stringify(rule.prefix)} from ${from} on, new ones too, and ${longest.topic} refers to them`;
    return [fault(CHECK, finding, 'delete the rule, or give it days instead of a date')];
  }
  const lifetimeMs = lifetimeOf(longest);
  // Exactly as long is too short: brokers look for segments to delete every five minutes.
  if (rule.days * DAY_MS > lifetimeMs) return [];
  const { topic, retentionMs, segmentMs } = longest;
  const isEndless = retentionMs === Number.POSITIVE_INFINITY;
  const kept = isEndless
    ? 'without end'
    : `for up to ${daysOf(lifetimeMs)} days: retention.ms is ${daysOf(retentionMs)} days, and a record lives until its segment is closed, after segment.ms of ${daysOf(segmentMs)} days`;
  const instead =
    rule.archive === undefined ? '' : 'move objects to GLACIER_IR, which can be read at once, or ';
  const remedy = isEndless
    ? `${instead}delete the rule, or limit retention.ms of the topic`
    : `${instead}give the rule at least ${Math.floor(lifetimeMs / DAY_MS) + 1} days, or shorten retention.ms or segment.ms of the topic`;
  return [
    warning(
      CHECK,
      `${name} ${whatItDoes(rule, 'objects')} after ${rule.days} days, but ${topic} keeps records ${kept}`,
      remedy,
    ),
  ];
}

/** Kafka's default of segment.ms, where the brokers do not tell it. */
const SEGMENT_MS = 7 * DAY_MS;

/** Of the topics whose records refer to objects. */
async function topicLifetimes(config: RetentionConfig): Promise<TopicLifetime[]> {
  const { prefix } = config.topics;
  const { deadLetter, ...others } = OWN_TOPICS;
  const own = Object.values(others).map((name) => topicName(prefix, name));
  const holding = new Set([...own, ...config.commands.topics.map(({ name }) => name)]);
  const names = topicsOf(config, { partitions: 1, replicationFactor: 1 })
    .map(({ name }) => name)
    .filter((name) => !holding.has(name));
  const configs = await withAdmin(connectKafka(config).client, (admin) =>
    describeConfigs(admin, names, ['retention.ms', 'segment.ms']),
  );
  return [...configs].map(([topic, settings]) => {
    const retentionMs = Number(settings.get('retention.ms') ?? -1);
    return {
      topic,
      retentionMs: retentionMs < 0 ? Number.POSITIVE_INFINITY : retentionMs,
      segmentMs: Number(settings.get('segment.ms') ?? SEGMENT_MS),
    };
  });
}
