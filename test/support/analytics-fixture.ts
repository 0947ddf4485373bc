import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TransactionTable } from '../../deploy/examples/analytics/transaction-table.ts';
import { ReceiverFixture } from './receiver-fixture.ts';
import type { RunningProcess } from './running-process.ts';
import { postSigned } from './sign.ts';

/** Of the heap, in MiB: a message of 45 MB and its transactions as objects are in it. */
const HEAP_MIB = 384;

type Env = Readonly<Record<string, string>>;

/** An ingress, and the example that keeps a table of what it stores. */
export class AnalyticsFixture implements AsyncDisposable {
  readonly file: string;

  readonly #receiver: ReceiverFixture;
  readonly #env: Env;
  /** Of further subscriptions, by ref. */
  readonly #keys = new Map<string, { subscriptionId: string; signingSecret: string }>();

  private constructor(receiver: ReceiverFixture, env: Env) {
    this.#receiver = receiver;
    this.#env = env;
    this.file = join(receiver.fixture.dir, 'analytics.duckdb');
  }

  static async make(
    stack: Parameters<typeof ReceiverFixture.make>[0],
    env: Env = {},
  ): Promise<AnalyticsFixture> {
    return new AnalyticsFixture(await ReceiverFixture.make(stack, env), env);
  }

  startJob(env: Env = {}): RunningProcess {
    const { fixture } = this.#receiver;
    return fixture.start('deploy/examples/analytics/main.ts', {
      ...this.#env,
      TOPIC: fixture.topic('payment-status'),
      GROUP_ID: `${fixture.prefix}-analytics`,
      ANALYTICS_FILE: this.file,
      // As a manifest does that names all variables.
      SUBSCRIPTION: '',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
      ...env,
    });
  }

  /** Another subscription to the same events. */
  addSubscription(ref: string): void {
    const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
    this.#keys.set(ref, keys);
    this.#receiver.fixture.secrets(ref, {
      'subscription-id': keys.subscriptionId,
      'signing-secret': keys.signingSecret,
    });
  }

  /** Delivers a report with so many transactions, as often as a sender that missed the answer would. */
  async deliver(
    entityId: string,
    status: string,
    transactions: number,
    times = 1,
    ref = 'ledger-eu',
  ): Promise<void> {
    const TxInfAndSts = Array.from({ length: transactions }, (_, index) => transactionOf(index, status));
    const pacs002 = { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm' }, TxInfAndSts } };
    const body = JSON.stringify({ type: 'payment-status', entityId, payload: { status, pacs002 } });
    for (let time = 0; time < times; time++) {
      const { text } = await postSigned(
        `${this.#receiver.ingress.url}/webhooks/${ref}`,
        this.#keys.get(ref) ?? this.#receiver,
        body,
      );
      if (!text.includes('"stored":"kafka"')) throw new Error(`not stored in Kafka: ${text}`);
    }
  }

  async ask(sql: string) {
    await using table = await TransactionTable.open(this.file, { readOnly: true });
    return await table.query(sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver[Symbol.asyncDispose]();
  }
}

export const storedBy = (job: RunningProcess, what: 'events' | 'repeats'): number =>
  job.lines.filter(({ msg }) => msg === 'stored').reduce((sum, line) => sum + Number(line[what]), 0);

const transactionOf = (index: number, TxSts: string) => ({
  OrgnlGrpInf: { OrgnlMsgId: 'OM-1', OrgnlMsgNmId: 'pacs.008.001.08' },
  OrgnlInstrId: `IN-${index}`,
  OrgnlUETR: `0b9f6a52-3f0e-4d43-9d5e-${String(index).padStart(12, '0')}`,
  TxSts,
  InstgAgt: { FinInstnId: { BICFI: index % 2 ? 'SBXADEFFXXX' : 'SBXBNL2AXXX' } },
  InstdAgt: { FinInstnId: { BICFI: 'SBXCFRPPXXX' } },
});
