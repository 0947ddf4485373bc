import { randomUUID } from 'node:crypto';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { clientOf } from '../sandbox/support/open-sandbox.ts';
import type { RunningProcess } from './running-process.ts';
import type { SeenRecord } from './topic-reader.ts';
import { type Brokers, Fixture } from './topics-fixture.ts';
import { writeRecords } from './write-records.ts';

export type Result = {
  commandId: string;
  status: string;
  errorCode: string | null;
  message: string;
  subscriptionId: string | null;
  httpStatus: number | null;
  attempts: number;
  subscriptions: { subscriptionId: string; url: string; ref: string | null; events: string[] }[] | null;
};

/** A delivery as the sandbox tells of it. */
export type Delivered = {
  id: string;
  status: number;
  entityId: string;
  sentBody: string;
  responseBody: string;
  attempts: { status: number | null }[];
};

/** Ingress and control, each a process of its own, and the emulated provider. */
export class ControlFixture implements AsyncDisposable {
  readonly fixture: Fixture;
  readonly sandbox: { readonly url: string; readonly call: ReturnType<typeof clientOf>['call'] };
  readonly ingress: { process: RunningProcess; url: string };
  control: RunningProcess;

  readonly #stopSandbox: () => Promise<void>;

  private constructor(
    parts: Pick<ControlFixture, 'fixture' | 'sandbox' | 'ingress' | 'control'>,
    stopSandbox: () => Promise<void>,
  ) {
    this.#stopSandbox = stopSandbox;
    this.fixture = parts.fixture;
    this.sandbox = parts.sandbox;
    this.ingress = parts.ingress;
    this.control = parts.control;
  }

  /** Of what runs already. */
  static of(
    parts: Pick<ControlFixture, 'fixture' | 'sandbox' | 'ingress' | 'control'>,
    stopSandbox: () => Promise<void>,
  ): ControlFixture {
    return new ControlFixture(parts, stopSandbox);
  }

  static async make(
    stack: Brokers,
    env: Record<string, string> = {},
    prefix?: string,
  ): Promise<ControlFixture> {
    const fixture = await Fixture.make(stack, { prefix });
    const [{ url, stop }, ingress] = await Promise.all([
      startSandbox({ port: 0, retryScheduleS: [0.2, 0.2, 0.5] }),
      fixture.ingress(env),
    ]);
    const control = await fixture.control({ provider: url, publicUrl: ingress.url }, env);
    const sandbox = { url, call: clientOf(url).call };
    return new ControlFixture({ fixture, sandbox, ingress, control }, stop);
  }

  get urls() {
    return { provider: this.sandbox.url, publicUrl: this.ingress.url };
  }

  /** Writes to the commands topic as a team would, with a producer of its own. Objects become JSON. */
  async send(
    key: string | null,
    value: Buffer | string | object,
    topic = this.fixture.topic('commands'),
  ): Promise<void> {
    const bytes = Buffer.isBuffer(value) || typeof value === 'string' ? value : JSON.stringify(value);
    await writeRecords(this.fixture.env, topic, [{ key, value: bytes }]);
  }

  /** Sends a command, and waits for its result. */
  async run(command: Record<string, unknown>, topic?: string): Promise<Result> {
    const commandId = String(command.commandId ?? randomUUID());
    await this.send(String(command.ref ?? commandId), { commandId, ...command }, topic);
    return this.result(commandId);
  }

  async results(commandId: string): Promise<Result[]> {
    const records = await this.fixture.read('command-results', 0);
    return records.filter(({ key }) => key === commandId).map(({ record }) => record as unknown as Result);
  }

  async result(commandId: string): Promise<Result> {
    const has = ({ key }: SeenRecord) => key === commandId;
    const records = await this.fixture.read('command-results', 0, { isEnough: (seen) => seen.some(has) });
    return records.find(has)?.record as unknown as Result;
  }

  /** What the provider has, secrets included. */
  async subscriptions(): Promise<
    { id: string; url: string; events: string[]; signingSecret: string; encryptionKey: string }[]
  > {
    return (await this.sandbox.call('GET', '/_sandbox/subscriptions')).json;
  }

  async trigger(request: Record<string, unknown>) {
    const { json } = await this.sandbox.call('POST', '/_sandbox/trigger', {
      json: { wait: 'final', ...request },
    });
    return json.executions as Delivered[];
  }

  /** The last record of the compacted state for a ref; null where it was forgotten. */
  async state(ref: string): Promise<Record<string, unknown> | null | undefined> {
    return (await this.fixture.read('subscriptions', 0)).filter(({ key }) => key === ref).at(-1)?.record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
    await this.#stopSandbox();
  }
}
