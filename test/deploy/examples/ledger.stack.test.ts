import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Book } from '../../../deploy/examples/ledger/book.ts';
import { ReceiverFixture } from '../../support/receiver-fixture.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { postSigned } from '../../support/sign.ts';
import { until } from '../../support/until.ts';

const PAYMENTS = 5;
const STATUSES = ['RCVD', 'ACTC', 'ACCP', 'ACSC'];

let receiver: ReceiverFixture;
let file: string;

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
  file = join(receiver.fixture.dir, 'ledger.sqlite');
});

afterAll(() => receiver[Symbol.asyncDispose]());

const startLedger = () =>
  receiver.fixture.start('deploy/examples/ledger/main.ts', {
    TOPIC: receiver.fixture.topic('payment-status'),
    GROUP_ID: `${receiver.fixture.prefix}-ledger`,
    LEDGER_FILE: file,
    // As a manifest does that names all variables.
    SUBSCRIPTION: '',
  });

/** The life of a payment, each of its webhooks delivered as often as a sender that missed the answer would. */
async function deliver(status: string, times: number): Promise<void> {
  for (let payment = 0; payment < PAYMENTS; payment++) {
    const body = JSON.stringify({ type: 'payment-status', entityId: `p-${payment}`, payload: { status } });
    for (let time = 0; time < times; time++) {
      const { text } = await postSigned(`${receiver.ingress.url}/webhooks/ledger-eu`, receiver, body);
      expect(text).toContain('"stored":"kafka"');
    }
  }
}

const logged = (ledger: RunningProcess, message: string) =>
  ledger.lines.filter(({ msg }) => msg === message).length;

function payments() {
  using book = new Book(file);
  return book.payments();
}

describe("the consumer's example, a ledger", () => {
  it('books each event once, whatever is delivered twice and however often it is killed', async () => {
    const [first = '', second = '', ...later] = STATUSES;
    const killed = startLedger();
    await deliver(first, 3);
    await until('all is booked', () => logged(killed, 'booked') === PAYMENTS, 40_000);
    // What it has read and not committed comes again: to its next life it is as good as a duplicate.
    killed.kill('SIGKILL');
    await killed.end();
    await deliver(second, 2);
    for (const status of later) await deliver(status, 2);

    const ledger = startLedger();
    const isDone = () => payments().every(({ changes }) => changes === STATUSES.length);
    await until('all is booked', isDone, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; the ledger wrote: ${ledger.written()}`);
    });
    const already = logged(ledger, 'booked already');
    await deliver('ACSC', 1);
    const areRead = () => logged(ledger, 'booked already') >= already + PAYMENTS;
    await until('the late repeats were read', areRead, 40_000);
    expect(await ledger.stop()).toBe(0);
    expect(logged(killed, 'booked') + logged(ledger, 'booked')).toBe(PAYMENTS * STATUSES.length);
    expect(payments()).toEqual(
      Array.from({ length: PAYMENTS }, (_, payment) => ({
        entityId: `p-${payment}`,
        status: 'ACSC',
        changes: STATUSES.length,
      })),
    );
  }, 120_000);
});
