import { randomUUID } from 'node:crypto';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import type { RunningProcess } from './running-process.ts';
import { type Brokers, Fixture } from './topics-fixture.ts';

/** A delivery as the sandbox tells of it. */
export type Execution = {
  id: string;
  status: number | null;
  entityId: string;
  sentBody: string;
  responseBody: string;
  error: string | null;
};

export const ENCRYPTION_KEY = '0123456789abcdef0123456789ABCDEF';

/** An ingress that runs for real, and a provider that delivers to it with keys from SECRETS_DIR. */
export class ReceiverFixture implements AsyncDisposable {
  readonly fixture: Fixture;
  readonly ingress: { process: RunningProcess; url: string };
  readonly sandbox: RunningSandbox;
  readonly subscriptionId = randomUUID();
  readonly signingSecret = randomUUID();

  constructor(fixture: Fixture, ingress: { process: RunningProcess; url: string }, sandbox: RunningSandbox) {
    this.fixture = fixture;
    this.ingress = ingress;
    this.sandbox = sandbox;
  }

  static async make(stack: Brokers, env: Record<string, string> = {}): Promise<ReceiverFixture> {
    const fixture = await Fixture.make(stack);
    // Large bodies go behind everything else: on a loaded machine one may take longer than a provider would wait.
    const sandbox = await startSandbox({ port: 0, retryScheduleS: [], deliveryTimeoutMs: 50_000 });
    const receiver = new ReceiverFixture(fixture, { process: undefined as never, url: '' }, sandbox);
    fixture.secrets('ledger-eu', {
      'subscription-id': receiver.subscriptionId,
      'signing-secret': receiver.signingSecret,
      'encryption-key': ENCRYPTION_KEY,
    });
    Object.assign(receiver.ingress, await fixture.ingress(env));
    await receiver.seed(`${receiver.ingress.url}/webhooks/ledger-eu`);
    return receiver;
  }

  /** Tells the provider of the subscription. */
  async seed(url: string): Promise<void> {
    const { subscriptionId: id, signingSecret } = this;
    const events = ['payment_status', 'accounts-entries', 'collection-status'];
    await this.call('POST', '/_sandbox/subscriptions', {
      id,
      signingSecret,
      url,
      events,
      encryptionKey: ENCRYPTION_KEY,
    });
  }

  /** Has messages delivered, and gives what was sent and answered. */
  async trigger(request: Record<string, unknown>): Promise<Execution[]> {
    const answer = await this.call('POST', '/_sandbox/trigger', { wait: 'final', ...request });
    return (answer as { executions: Execution[] }).executions;
  }

  async trigger1(request: Record<string, unknown>): Promise<Execution> {
    const [execution, ...more] = await this.trigger(request);
    if (!execution || more.length > 0) throw new Error(`${more.length + 1} deliveries`);
    return execution;
  }

  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(this.sandbox.url + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the sandbox answered ${response.status}: ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.stop();
    await this.fixture[Symbol.asyncDispose]();
  }
}

/** The receipt that a webhook was answered with. A delivery without one fails here, and says what was wrong. */
export function receiptOf({ status, error, responseBody }: Execution): { eventId: string; stored: string } {
  if (status !== 200) throw new Error(`answered ${status}: ${error ?? responseBody}`);
  return JSON.parse(responseBody) as { eventId: string; stored: string };
}
