import { join, relative } from 'node:path';
import type kafkajs from 'kafkajs';
import { cli } from '../support/cli.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { ROOT } from '../support/source-tree.ts';
import { testKafka } from '../support/topic-reader.ts';
import { type Brokers, Fixture } from '../support/topics-fixture.ts';
import { SUBSCRIPTION } from './load/bodies.ts';

export const SYSTEM_NAMES = ['floor', 'naive', 'hookline'] as const;
export type SystemName = (typeof SYSTEM_NAMES)[number];

const ENTRIES: Readonly<Record<SystemName, string>> = {
  floor: 'test/bench/floor/main.ts',
  naive: 'test/bench/naive/main.ts',
  hookline: 'src/ingress/main.ts',
};

/** As in the figures that others are compared with. */
const PARTITIONS = 4;

export type SystemOptions = {
  readonly name: SystemName;
  readonly stack: Brokers;
  /** Of the source that runs; another checkout's Hookline is measured beside this one's. */
  readonly root?: string;
  readonly profileDir?: string | undefined;
  /** Of each topic. */
  readonly partitions?: number;
  readonly env?: Readonly<Record<string, string>>;
};

/** What is measured, running: a process with topics of its own. */
export class System implements AsyncDisposable {
  readonly label: string;
  readonly process: RunningProcess;
  readonly url: URL;
  readonly fixture: Fixture;
  readonly #admin: kafkajs.Admin;

  private constructor(
    label: string,
    fixture: Fixture,
    running: RunningProcess,
    url: URL,
    admin: kafkajs.Admin,
  ) {
    this.label = label;
    this.fixture = fixture;
    this.process = running;
    this.url = url;
    this.#admin = admin;
  }

  static async start(options: SystemOptions): Promise<System> {
    const { name, stack, root = ROOT, profileDir, partitions = PARTITIONS, env = {} } = options;
    const fixture = new Fixture(stack);
    await prepareTopics(fixture, partitions);
    const { ref, subscriptionId, signingSecret, encryptionKey } = SUBSCRIPTION;
    fixture.secrets(ref, {
      'subscription-id': subscriptionId,
      'signing-secret': signingSecret,
      'encryption-key': encryptionKey,
    });
    const profile =
      profileDir && `--cpu-prof --cpu-prof-dir=${profileDir} --cpu-prof-name=${name}.cpuprofile`;
    const running = fixture.start(relative(ROOT, join(root, ENTRIES[name])), {
      LOG_LEVEL: 'info',
      ...(profile && { NODE_OPTIONS: profile }),
      ...env,
    });
    const { url } = await running.logged('listening');
    const admin = testKafka(fixture.env).admin();
    await admin.connect();
    const label = root === ROOT ? name : `${name} of ${root}`;
    return new System(label, fixture, running, new URL(`/webhooks/${ref}`, String(url)), admin);
  }

  /** Records in its event topic, or null where it stores nothing. */
  async stored(): Promise<number | null> {
    if (this.label === 'floor') return null;
    const ends = await this.#admin.fetchTopicOffsets(this.fixture.topic('payment-status'));
    return ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  }

  /** Takes its topics along: a run leaves gigabytes otherwise. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    const topics = await this.#admin.listTopics();
    const own = topics.filter((topic) => topic.startsWith(`${this.fixture.prefix}.`));
    await this.#admin.deleteTopics({ topics: own });
    await this.#admin.disconnect();
    await this.fixture[Symbol.asyncDispose]();
  }
}

const SET_UP_TRIES = 3;

async function prepareTopics(fixture: Fixture, partitions: number): Promise<void> {
  for (const args of [
    ['topics', 'apply', '--partitions', String(partitions)],
    ['schemas', 'push'],
  ]) {
    for (let tries = 1; ; tries++) {
      const { exitCode, notes, out } = await cli(fixture.env, ...args);
      if (exitCode === 0) break;
      // A registry that has just started may take longer than the command waits for an answer.
      if (tries === SET_UP_TRIES) throw new Error(`hookline ${args.join(' ')}: ${notes} ${out}`);
    }
  }
}
