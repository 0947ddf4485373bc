import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { readTopic, testKafka } from '../support/topic-reader.ts';
import { type Brokers, Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

/** What an attack on control came to. */
export type ControlRow = {
  readonly attack: string;
  readonly outcome: string;
  readonly peakMemoryMiB: number;
  readonly ok: boolean;
};

export type Sent = { readonly key: string | null; readonly value: Buffer };
export type SeenResult = {
  commandId: string;
  status: string;
  errorCode: string | null;
  message: string;
  commandPartition: number;
  commandOffset: number;
  receivedAt: number;
  finishedAt: number;
};

/** A hundred thousand records are read in half a minute on a machine that does nothing else. */
const READ_MS = 300_000;

/** A control process on topics of its own, and the teams that write its commands. */
export class ControlTarget implements AsyncDisposable {
  readonly fixture: Fixture;
  readonly pid: number;
  readonly #admin: ReturnType<ReturnType<typeof testKafka>['admin']>;
  readonly #producer: ReturnType<ReturnType<typeof testKafka>['producer']>;

  readonly #stopSandbox: () => Promise<void>;

  private constructor(parts: Pick<ControlTarget, 'fixture' | 'pid'>, stopSandbox: () => Promise<void>) {
    this.#stopSandbox = stopSandbox;
    this.fixture = parts.fixture;
    this.pid = parts.pid;
    const kafka = testKafka(parts.fixture.env);
    this.#admin = kafka.admin();
    this.#producer = kafka.producer();
  }

  /** @param provider address of the provider that control calls; a sandbox where there is none */
  static async start(
    stack: Brokers,
    env: Record<string, string> = {},
    provider?: string,
  ): Promise<ControlTarget> {
    const fixture = await Fixture.make(stack);
    const sandbox = provider === undefined ? await startSandbox({ port: 0 }) : null;
    const url = provider ?? String(sandbox?.url);
    // Warnings suffice: a line for each of a hundred thousand commands would be the test's own load.
    const control = await fixture.control(
      { provider: url, publicUrl: 'https://hooks.example' },
      { LOG_LEVEL: 'info', ...env },
    );
    const target = new ControlTarget({ fixture, pid: control.pid }, async () => sandbox?.stop());
    await Promise.all([target.#admin.connect(), target.#producer.connect()]);
    return target;
  }

  async send(messages: readonly Sent[]): Promise<void> {
    await this.#producer.send({ topic: this.fixture.topic('commands'), acks: -1, messages: [...messages] });
  }

  /** Waits until control has committed all that was sent. */
  async done(deadlineMs: number): Promise<void> {
    const topic = this.fixture.topic('commands');
    const groupId = `${this.fixture.prefix}-control`;
    const isDone = async () => {
      const ends = await this.#admin.fetchTopicOffsets(topic);
      const [committed] = await this.#admin.fetchOffsets({ groupId, topics: [topic] });
      return ends.every(({ partition, high }) => {
        const own = committed?.partitions.find((one) => one.partition === partition);
        return high === '0' || Number(own?.offset ?? -1) >= Number(high);
      });
    };
    await until('control has committed all commands', isDone, deadlineMs);
  }

  /** Every place of the commands topic, as partition:offset. */
  async places(): Promise<string[]> {
    const ends = await this.#admin.fetchTopicOffsets(this.fixture.topic('commands'));
    return ends.flatMap(({ partition, low, high }) =>
      Array.from({ length: Number(high) - Number(low) }, (_, n) => `${partition}:${Number(low) + n}`),
    );
  }

  async results(): Promise<SeenResult[]> {
    const topic = this.fixture.topic('command-results');
    const records = await readTopic(this.fixture.env, topic, 0, { deadlineMs: READ_MS });
    return records.flatMap(({ record }) => (record === null ? [] : [record as unknown as SeenResult]));
  }

  /** Places of the commands that are in the dead-letter topic. */
  async deadLettered(): Promise<string[]> {
    const records = await readTopic(this.fixture.env, this.fixture.topic('dead-letter'), 0, {
      values: 'raw',
      deadlineMs: READ_MS,
    });
    return records
      .filter(({ headers }) => headers['__connect.errors.stage'] === 'COMMAND')
      .map(({ headers }) => `${headers['__connect.errors.partition']}:${headers['__connect.errors.offset']}`);
  }

  /** An honest command of another team, and the status of its result, with the reason where it did not succeed. */
  async honest(command: object = { type: 'subscription.list' }, deadlineMs = 60_000): Promise<string> {
    const commandId = randomUUID();
    await this.send([{ key: commandId, value: Buffer.from(JSON.stringify({ commandId, ...command })) }]);
    // A result is stored before its command is committed. Read once: the topic may be long.
    await this.done(deadlineMs);
    const result = (await this.results()).find((one) => one.commandId === commandId);
    if (!result) throw new Error('the honest command has no result');
    const { status, errorCode, message, receivedAt, finishedAt } = result;
    if (status === 'SUCCEEDED') return status;
    return `${status} after ${finishedAt - receivedAt} ms, ${errorCode}: ${message}`;
  }

  /** The most memory that the process has had so far. */
  peakMiB(): number {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1')) ?? [];
    return Math.round(Number(kib) / 1_024);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#producer.disconnect();
    const prefix = `${this.fixture.prefix}.`;
    await this.fixture[Symbol.asyncDispose]();
    await this.#stopSandbox();
    const topics = (await this.#admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    await this.#admin.deleteTopics({ topics }).catch(() => {});
    await this.#admin.disconnect();
  }
}
