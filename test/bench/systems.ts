import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import type kafkajs from 'kafkajs';
import { freePorts } from '../stack/plan-ports.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { ROOT } from '../support/source-tree.ts';
import { testKafka } from '../support/topic-reader.ts';
import { type Brokers, Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { SUBSCRIPTION } from './load/bodies.ts';

export const SYSTEM_NAMES = [
  'floor',
  'naive',
  'hookline',
  'bare-http',
  'redpanda',
  'redpanda-batched',
] as const;
export type SystemName = (typeof SYSTEM_NAMES)[number];

type Entry = { readonly file: string; readonly args?: readonly string[]; readonly storesNothing?: true };

const ENTRIES: Readonly<Record<SystemName, Entry>> = {
  floor: { file: 'test/bench/floor/main.ts', storesNothing: true },
  'bare-http': { file: 'test/bench/floor/bare-http.ts', storesNothing: true },
  naive: { file: 'test/bench/naive/main.ts' },
  hookline: { file: 'src/ingress/main.ts' },
  redpanda: { file: 'test/bench/peers/redpanda/main.ts' },
  'redpanda-batched': { file: 'test/bench/peers/redpanda/main.ts', args: ['batched'] },
};

/** Those that are another project's program. */
export const isPeer = (name: SystemName): boolean => name.startsWith('redpanda');

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

/** Another checkout has topics and schemas of its own: its command line tool knows them. */
const cliOf =
  (root: string) =>
  async (env: Readonly<Record<string, string | undefined>>, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'src/cli/main.ts'), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    return { exitCode: status ?? 1, out: stdout, notes: stderr };
  };

type SystemParts = { readonly admin: kafkajs.Admin };

/** What is measured, running: a process with topics of its own. */
export class System implements AsyncDisposable {
  readonly label: string;
  readonly process: RunningProcess;
  readonly url: URL;
  readonly fixture: Fixture;
  readonly #admin: kafkajs.Admin;
  readonly storesNothing: boolean;

  private constructor(
    parts: Pick<System, 'label' | 'fixture' | 'process' | 'url' | 'storesNothing'> & SystemParts,
  ) {
    this.label = parts.label;
    this.fixture = parts.fixture;
    this.process = parts.process;
    this.url = parts.url;
    this.#admin = parts.admin;
    this.storesNothing = parts.storesNothing;
  }

  static async start(options: SystemOptions): Promise<System> {
    const { name, stack, root = ROOT, profileDir, partitions = PARTITIONS, env = {} } = options;
    const fixture = await Fixture.make(stack, { partitions, run: root === ROOT ? undefined : cliOf(root) });
    const { ref, subscriptionId, signingSecret, encryptionKey } = SUBSCRIPTION;
    fixture.secrets(ref, {
      'subscription-id': subscriptionId,
      'signing-secret': signingSecret,
      'encryption-key': encryptionKey,
    });
    const profile =
      profileDir && `--cpu-prof --cpu-prof-dir=${profileDir} --cpu-prof-name=${name}.cpuprofile`;
    const { file, args, storesNothing = false } = ENTRIES[name];
    const [port] = await freePorts(1);
    const running = fixture.start(
      relative(ROOT, join(root, file)),
      {
        LOG_LEVEL: 'info',
        ...(profile && { NODE_OPTIONS: profile }),
        ...(isPeer(name) && { INGRESS_PORT: String(port), REF: ref }),
        ...env,
      },
      args,
    );
    const { url } = await running.logged('listening');
    await until('the port is open', () => isOpen(new URL(String(url))));
    const admin = testKafka(fixture.env).admin();
    await admin.connect();
    const label = root === ROOT ? name : `${name} of ${root}`;
    return new System({
      label,
      fixture,
      process: running,
      url: new URL(`/webhooks/${ref}`, String(url)),
      admin,
      storesNothing,
    });
  }

  /** Records in its event topic, or null where it stores nothing. */
  async stored(): Promise<number | null> {
    if (this.storesNothing) return null;
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

const isOpen = ({ hostname, port }: URL): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
