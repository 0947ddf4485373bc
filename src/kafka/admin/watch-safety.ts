import type kafkajs from 'kafkajs';
import { HooklineError } from '../../core/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { missingTopics, withAdmin } from './describe-topics.ts';
import { assessSafety, readSafety, type SafetyAssessment } from './topic-safety.ts';

export type TopicSafetyDeps = {
  readonly kafka: KafkaClient;
  /** The topics that this process writes to. */
  readonly topics: readonly string[];
  /** MIN_INSYNC_REPLICAS */
  readonly minInsyncReplicas: number;
  /** The topics of which only the latest record of a key counts. */
  readonly compacted?: readonly string[] | undefined;
  readonly observer: TopicSafetyObserver;
  readonly intervalMs?: number;
};

export type TopicSafetyObserver = {
  /** Called for each reading that decides: why the topic is unsafe, or null. */
  verdict(topic: string, unsafe: string | null): void;
  /** The verdict changed while the process runs. */
  changed(topic: string, unsafe: string | null): void;
  /** Called once per warning, until it no longer applies. */
  warning(text: string): void;
};

const INTERVAL_MS = 30_000;
const UNKNOWN = 'whether topics can lose records is not known';

type Unsafe = Pick<SafetyAssessment, 'faults' | 'remedies'>;
type Verdict = { unsafe: Unsafe | null; readonly isPending: boolean };

/**
 * Checks whether the topics that a process writes to can lose confirmed records. At the start one reading decides; later
 * two in a row, so that a change in progress does not stop the process. Unknown values leave the verdict unchanged.
 */
export class TopicSafety {
  readonly #deps: TopicSafetyDeps;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #admin: kafkajs.Admin;
  #warned = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(deps: TopicSafetyDeps) {
    this.#deps = deps;
    this.#admin = deps.kafka.admin();
  }

  /** @throws HooklineError TOPICS_UNSAFE naming topics, values and remedies; does not throw if the brokers cannot be asked */
  async check(admin: kafkajs.Admin): Promise<void> {
    await this.#read(admin, (topic, unsafe) => this.#decide(topic, unsafe));
    const error = this.#error();
    if (error) throw error;
  }

  /** Reads every 30 s from now on. */
  watch(): void {
    this.#timer = setTimeout(() => {
      this.#reading = this.#readAgain();
    }, this.#deps.intervalMs ?? INTERVAL_MS);
  }

  /** For readiness: the unsafe topics, or null. */
  trouble(): string | null {
    const error = this.#error();
    return error ? `${error.code}: ${error.message}` : null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    // A reading in progress ends with its connection.
    await this.#admin.disconnect().catch(() => {});
    await this.#reading;
  }

  async #readAgain(): Promise<void> {
    await this.#read(this.#admin, (topic, unsafe) => this.#decideAgain(topic, unsafe), true);
    if (!this.#isStopped) this.watch();
  }

  async #read(
    admin: kafkajs.Admin,
    decide: (topic: string, unsafe: Unsafe | null) => void,
    connects = false,
  ): Promise<void> {
    const { topics, minInsyncReplicas, compacted = [] } = this.#deps;
    /** By what each is told once: of one cause, another broker may be named each time. */
    const warnings = new Map<string, string>();
    try {
      if (connects) await admin.connect();
      for (const [topic, reading] of await readSafety(admin, topics)) {
        const isState = compacted.includes(topic);
        const assessment = assessSafety(reading, minInsyncReplicas, { isState });
        for (const warning of assessment.warnings) {
          const text = `${topic}: ${warning}`;
          warnings.set(text, text);
        }
        if (assessment.faults.length > 0) decide(topic, assessment);
        else if (assessment.isCertain) decide(topic, null);
      }
    } catch (error) {
      const cause = error instanceof HooklineError ? error.code : '';
      warnings.set(`${UNKNOWN} ${cause}`, `${UNKNOWN}: ${(error as Error).message}`);
    }
    if (!this.#isStopped) this.#warn(warnings);
  }

  #decide(topic: string, unsafe: Unsafe | null): void {
    this.#verdicts.set(topic, { unsafe, isPending: false });
    this.#deps.observer.verdict(topic, reasonOf(unsafe));
  }

  /** A verdict changes with the second reading in a row that differs. */
  #decideAgain(topic: string, unsafe: Unsafe | null): void {
    const { unsafe: was = null, isPending = false } = this.#verdicts.get(topic) ?? {};
    const isOther = (was === null) !== (unsafe === null);
    if (isOther && !isPending) this.#verdicts.set(topic, { unsafe: was, isPending: true });
    else this.#decide(topic, unsafe);
    if (isOther && isPending) this.#deps.observer.changed(topic, reasonOf(unsafe));
  }

  #warn(warnings: ReadonlyMap<string, string>): void {
    for (const [key, text] of warnings) if (!this.#warned.has(key)) this.#deps.observer.warning(text);
    this.#warned = new Set(warnings.keys());
  }

  #error(): HooklineError | undefined {
    const unsafe = [...this.#verdicts].flatMap(([topic, verdict]) =>
      verdict.unsafe ? [{ topic, ...verdict.unsafe }] : [],
    );
    if (unsafe.length === 0) return undefined;
    const detail = unsafe.map(({ topic, faults }) => `${topic}: ${faults.join(', ')}`).join('; ');
    const remedy = [...new Set(unsafe.flatMap(({ remedies }) => remedies))].join('; ');
    return new HooklineError('TOPICS_UNSAFE', detail, { remedy });
  }
}

const reasonOf = (unsafe: Unsafe | null): string | null => unsafe?.faults.join(', ') ?? null;

/**
 * @throws HooklineError TOPICS_MISSING, TOPICS_UNSAFE naming them; the client's error if no broker answers
 * @param safety also checks the topics that are written to
 */
export async function checkTopics(
  kafka: KafkaClient,
  names: readonly string[],
  safety?: TopicSafety,
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const missing = await missingTopics(admin, names);
    if (missing.length > 0) throw new HooklineError('TOPICS_MISSING', missing.join(', '));
    await safety?.check(admin);
  });
}

/**
 * Waits until these topics exist and the written ones are safe; then keeps checking the latter.
 * @param mayStartWithout errors despite which the process starts
 * @returns whether the brokers were reached
 */
export async function awaitTopics(
  options: {
    readonly kafka: KafkaClient;
    /** Full names of the topics that this process writes to. */
    readonly written: readonly string[];
    readonly others: readonly string[];
    readonly minInsyncReplicas: number;
    readonly compacted?: readonly string[];
    readonly mayStartWithout?: (error: unknown) => boolean;
  },
  { logger, metrics, probes, components, gate }: ProcessContext,
): Promise<boolean> {
  const { kafka, written, others, minInsyncReplicas, compacted, mayStartWithout = () => false } = options;
  const observer = observeTopicSafety({ logger, metrics });
  const safety = components.add(
    'topic safety',
    new TopicSafety({ kafka, topics: written, minInsyncReplicas, compacted, observer }),
  );
  const areReached = await gate.pass('topics', async () => {
    try {
      await checkTopics(kafka, [...written, ...others], safety);
      return true;
    } catch (error) {
      if (mayStartWithout(error)) return false;
      throw error;
    }
  });
  safety.watch();
  probes.readyWhen('topics', () => safety.trouble());
  return areReached;
}

/** A gauge per topic, and one log line per change. */
export function observeTopicSafety({ logger, metrics }: { logger: Logger; metrics: Metrics }) {
  const { topicUnsafe } = safetyMetrics(metrics);
  return {
    verdict: (topic: string, unsafe: string | null) => topicUnsafe.set({ topic }, unsafe === null ? 0 : 1),
    changed(topic: string, unsafe: string | null) {
      if (unsafe === null) logger.info({ topic }, 'topic is safe again');
      else logger.error({ topic, code: 'TOPICS_UNSAFE', unsafe }, 'topic can lose acknowledged records');
    },
    warning: (text: string) => logger.warn({ about: text }, "check the topic's settings"),
  };
}

/** Whether topics keep what was acknowledged. */
export const safetyMetrics = (metrics: Metrics) => ({
  topicUnsafe: metrics.gauge({
    name: 'hookline_topic_unsafe',
    help: '1 where a topic that is written to can lose what was acknowledged (TOPICS_UNSAFE), else 0',
    labels: ['topic'],
  }),
});
