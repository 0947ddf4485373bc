import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { compileCodec } from '../../../src/avro/record-codec.ts';
import { readSchemaFiles } from '../../../src/avro/schema-files.ts';
import { ControlFixture } from '../../support/control-fixture.ts';
import { createTopic } from '../../support/create-topic.ts';
import { type RunningStore, startS3Mock } from '../../support/object-store/s3-bucket.ts';
import { postSigned } from '../../support/sign.ts';
import { testKafka } from '../../support/topic-reader.ts';
import type { Brokers, Fixture } from '../../support/topics-fixture.ts';

export const REF = 'analytics';
const EVENTS = ['payment-status', 'accounts-entries', 'collection-status'];

/** Topics with what ingress and control have published: events of every type and size, commands, results, states. */
export class PublishedTopics implements AsyncDisposable {
  readonly #the: ControlFixture;
  readonly #store: RunningStore;

  private constructor(the: ControlFixture, store: RunningStore) {
    this.#the = the;
    this.#store = store;
  }

  static async make(stack: Brokers): Promise<PublishedTopics> {
    const store = await startS3Mock();
    const the = await ControlFixture.make(stack, { ...store.env, CLAIM_CHECK_BYTES: '20000' });
    const topics = new PublishedTopics(the, store);
    await topics.#command({ type: 'subscription.create', ref: REF, events: EVENTS });
    await topics.#command({ type: 'subscription.list', ref: null, events: null });
    await topics.#command({ type: 'subscription.create', ref: 'forgotten', events: EVENTS });
    await topics.#command({ type: 'subscription.delete', ref: 'forgotten', events: null });
    await topics.#deliver();
    return topics;
  }

  get fixture(): Fixture {
    return this.#the.fixture;
  }

  /** Sends a command in Avro, and waits for its result: the contract does not cover those in JSON. */
  async #command(fields: { type: string; ref: string | null; events: string[] | null }): Promise<void> {
    const commandId = randomUUID();
    const command = {
      commandId,
      executionIds: null,
      extra: null,
      issuedBy: 'a-team',
      issuedAt: Date.now(),
      expiresAt: null,
      dryRun: false,
      ifMatch: null,
      ...fields,
    };
    await this.#the.send(fields.ref ?? commandId, await this.encode('commands', command));
    expect(await this.#the.result(commandId)).toMatchObject({ status: 'SUCCEEDED' });
  }

  /** Webhooks by the sandbox, sealed; and signed here, with what the sandbox would not send. */
  async #deliver(): Promise<void> {
    for (const event of EVENTS) {
      const executions = await this.#the.trigger({ event, count: 3, sealed: true });
      expect(executions.map(({ status }) => status)).toEqual([200, 200, 200]);
    }
    const agent = (BICFI: string) => ({ FinInstnId: { BICFI } });
    const transaction = { OrgnlInstrId: 'i-1', TxSts: 'ACCC', InstgAgt: agent('SBXADEFFXXX') };
    const payment = (entityId: string, TxInfAndSts: unknown[], type = 'payment-status') => ({
      type,
      entityId,
      payload: { status: 'ACCC', pacs002: { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm' }, TxInfAndSts } } },
    });
    const repeated = payment('p-1', [transaction]);
    const messages = [
      repeated,
      // A sender that has missed the answer.
      repeated,
      payment('p-2', [transaction, 'no object'], 'payment_status'),
      // Too large for its record: the list is left out, the message is in the object store.
      payment('p-3', Array(1_000).fill(transaction)),
      { type: 'nobody-knows', entityId: 'e-1', payload: {} },
      { type: 7, payload: null },
    ];
    for (const message of messages) await this.#post(message);
  }

  async #post(message: unknown): Promise<void> {
    const found = (await this.#the.subscriptions()).find(({ url }) => url.endsWith(`/${REF}`));
    const { id: subscriptionId, signingSecret, url } = found ?? expect.fail('no subscription');
    const answer = await postSigned(url, { subscriptionId, signingSecret }, JSON.stringify(message));
    expect(answer.text).toContain('"stored":"kafka"');
  }

  /** A record's value in the wire format, by the schema that the registry has for the topic. */
  async encode(topic: string, record: object): Promise<Buffer> {
    const subject = `${this.fixture.topic(topic)}-value`;
    const latest = await fetch(`${this.fixture.env.SCHEMA_REGISTRY_URL}/subjects/${subject}/versions/latest`);
    const { id } = (await latest.json()) as { id: number };
    const files = (['events', 'commands'] as const).flatMap((kind) => readSchemaFiles(undefined, kind));
    const schema = files.map(({ text }) => JSON.parse(text)).find((one) => one.topic === topic);
    return compileCodec(schema).encode(record, id, 500);
  }

  /** Creates a topic of one partition that holds these values, and gives its name. */
  async copy(name: string, values: readonly (Buffer | null)[]): Promise<string> {
    const topic = this.fixture.topic(name);
    const kafka = testKafka(this.fixture.env);
    const admin = kafka.admin();
    const producer = kafka.producer();
    await Promise.all([admin.connect(), producer.connect()]);
    await createTopic(admin, { topic, numPartitions: 1 });
    await producer.send({ topic, acks: -1, messages: values.map((value) => ({ key: null, value })) });
    await Promise.all([admin.disconnect(), producer.disconnect()]);
    return topic;
  }

  /** The states of refs alone, as the claims of control in the same topic are not Avro; then values that forget refs. */
  async copyStates({ forgotten }: { forgotten: number }): Promise<string> {
    const records = await this.fixture.read('subscriptions');
    const states = records.filter(({ key }) => !key?.startsWith('#'));
    expect(new Set(states.map(({ record }) => record?.state))).toEqual(
      new Set(['REQUESTED', 'ACTIVE', 'RETIRED']),
    );
    const values = [...states.map(({ value }) => value), ...Array(forgotten).fill(null)];
    return this.copy('states-of-refs', values);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#the[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }
}
