import type kafkajs from 'kafkajs';
import { HooklineError } from '../../core/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { missingTopics, withAdmin } from './describe-topics.ts';
import { judgeSafety, readSafety, type SafetyJudgement } from './topic-safety.ts';

export type TopicSafetyParts = {
  readonly kafka: KafkaClient;
  /** The topics that this process writes to. */
  readonly topics: readonly string[];
  /** MIN_INSYNC_REPLICAS */
  readonly least: number;
  readonly observer: TopicSafetyObserver;
  readonly intervalMs?: number;
};

export type TopicSafetyObserver = {
  /** The verdict on a topic, again with each reading that has one: why it is unsafe, or null. */
  verdict(topic: string, unsafe: string | null): void;
  /** A verdict is another one than before, while the process runs. */
  changed(topic: string, unsafe: string | null): void;
  /** Told once, until it is over. */
  warning(text: string): void;
};

const INTERVAL_MS = 30_000;

type Unsafe = Pick<SafetyJudgement, 'faults' | 'remedies'>;
type Verdict = { unsafe: Unsafe | null; readonly isPending: boolean };

/**
 * Whether what the brokers confirm is stored as safely as promised, for the topics that a process writes to. One reading
 * decides at the start; while the process runs two in a row decide, so that a change under way stops nobody. What is not
 * known leaves the verdict as it is.
 */
export class TopicSafety {
  readonly #parts: TopicSafetyParts;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #admin: kafkajs.Admin;
  #warned = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: TopicSafetyParts) {
    this.#parts = parts;
    this.#admin = parts.kafka.admin();
  }

  /** @throws HooklineError TOPICS_UNSAFE naming topics, values and remedies; never where they cannot be asked for */
  async check(admin: kafkajs.Admin): Promise<void> {
    await this.#read(admin, (topic, unsafe) => this.#decide(topic, unsafe));
    const error = this.#error();
    if (error) throw error;
  }

  /** Begins to read again and again. */
  watch(): void {
    this.#timer = setTimeout(() => {
      this.#reading = this.#readAgain();
    }, this.#parts.intervalMs ?? INTERVAL_MS);
  }

  /** For readiness: the unsafe topics, or null. */
  trouble(): string | null {
    const error = this.#error();
    return error ? `${error.code}: ${error.message}` : null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    // A reading under way ends with its connection.
    await this.#admin.disconnect().catch(() => {});
    await this.#reading;
  }

  async #readAgain(): Promise<void> {
    await this.#read(this.#admin, (topic, unsafe) => this.#judgeAgain(topic, unsafe), true);
    if (!this.#isStopped) this.watch();
  }

  async #read(
    admin: kafkajs.Admin,
    judge: (topic: string, unsafe: Unsafe | null) => void,
    connects = false,
  ): Promise<void> {
    const { topics, least } = this.#parts;
    const warnings: string[] = [];
    try {
      if (connects) await admin.connect();
      for (const [topic, reading] of await readSafety(admin, topics)) {
        const judgement = judgeSafety(reading, least);
        warnings.push(...judgement.warnings.map((text) => `${topic}: ${text}`));
        if (judgement.faults.length > 0) judge(topic, judgement);
        else if (judgement.isCertain) judge(topic, null);
      }
    } catch (error) {
      warnings.push(`whether topics can lose records is not known: ${(error as Error).message}`);
    }
    if (!this.#isStopped) this.#warn(warnings);
  }

  #decide(topic: string, unsafe: Unsafe | null): void {
    this.#verdicts.set(topic, { unsafe, isPending: false });
    this.#parts.observer.verdict(topic, wordsOf(unsafe));
  }

  /** The first reading that says otherwise waits for a second one. */
  #judgeAgain(topic: string, unsafe: Unsafe | null): void {
    const { unsafe: was = null, isPending = false } = this.#verdicts.get(topic) ?? {};
    const isOther = (was === null) !== (unsafe === null);
    if (isOther && !isPending) this.#verdicts.set(topic, { unsafe: was, isPending: true });
    else this.#decide(topic, unsafe);
    if (isOther && isPending) this.#parts.observer.changed(topic, wordsOf(unsafe));
  }

  #warn(warnings: readonly string[]): void {
    for (const text of warnings) if (!this.#warned.has(text)) this.#parts.observer.warning(text);
    this.#warned = new Set(warnings);
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

const wordsOf = (unsafe: Unsafe | null): string | null => unsafe?.faults.join(', ') ?? null;

/**
 * @throws HooklineError TOPICS_MISSING, TOPICS_UNSAFE naming them; the client's own error where no broker answers
 * @param safety also judges how safe those are that are written to
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
 * Waits until these topics exist and those that are written to are safe; then goes on checking the latter.
 * @param mayStartWithout errors with which the process starts all the same
 * @returns whether they were reached
 */
export async function awaitTopics(
  options: {
    readonly kafka: KafkaClient;
    /** Full names of the topics that this process writes to. */
    readonly written: readonly string[];
    readonly others: readonly string[];
    readonly minInsyncReplicas: number;
    readonly mayStartWithout?: (error: unknown) => boolean;
  },
  { logger, metrics, probes, components, gate }: ProcessContext,
): Promise<boolean> {
  const { kafka, written, others, minInsyncReplicas: least, mayStartWithout = () => false } = options;
  const observer = observeTopicSafety({ logger, metrics });
  const safety = components.add('topic safety', new TopicSafety({ kafka, topics: written, least, observer }));
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
  return {
    verdict: (topic: string, unsafe: string | null) =>
      metrics.topicUnsafe.set({ topic }, unsafe === null ? 0 : 1),
    changed(topic: string, unsafe: string | null) {
      if (unsafe === null) logger.info({ topic }, 'topic is safe again');
      else logger.error({ topic, code: 'TOPICS_UNSAFE', unsafe }, 'topic can lose what was acknowledged');
    },
    warning: (text: string) => logger.warn({ about: text }, "check the topic's settings"),
  };
}
