import type { ControlFixture } from '../support/control-fixture.ts';

/** What was delivered, how it was answered, and what the contract says of it. */
export type Sent = {
  readonly what: string;
  readonly answers: readonly (number | string)[];
  readonly eventId: string | null;
  readonly message: string;
  readonly expected: Expected;
};

export type Expected = {
  readonly answers: readonly (number | string)[];
  /** Without the prefix; null where the event must be nowhere. */
  readonly topic: string | null;
  /** Records with the event's id. */
  readonly records: number;
};

type Delivery = {
  what: string;
  request: Record<string, unknown>;
  expected: Expected;
  before?: object[];
  isReplayOf?: string;
};

const stored = (topic: string, records = 1): Expected => ({ answers: [200], topic, records });
const event = (name: string, more: object = {}) => ({ event: name, ...more });

const DELIVERIES: readonly Delivery[] = [
  {
    what: 'a payment-status, plain',
    request: event('payment-status'),
    expected: stored('payment-status', 2),
  },
  {
    what: 'a payment_status (the other spelling)',
    request: event('payment-status', { spelling: 'underscore' }),
    expected: stored('payment-status'),
  },
  {
    what: 'a payment-status, encrypted',
    request: event('payment-status', { sealed: true, transactions: 2 }),
    expected: stored('payment-status'),
  },
  {
    what: 'an accounts-entries, encrypted',
    request: event('accounts-entries', { sealed: true }),
    expected: stored('accounts-entries'),
  },
  {
    what: 'a collection-status, plain',
    request: event('collection-status'),
    expected: stored('collection-status'),
  },
  {
    what: 'a type that nobody has heard of',
    request: { unknownType: true },
    expected: stored('unclassified'),
  },
  {
    what: 'a payment-status, changed after it was signed',
    request: event('payment-status', { tamper: 'body', retry: false }),
    expected: { answers: [401], topic: null, records: 0 },
  },
  {
    what: 'a payment-status, encrypted with a wrong key',
    request: event('payment-status', { sealed: true, wrongKey: true }),
    expected: stored('dead-letter'),
  },
  {
    what: 'a payment-status whose answer is lost: sent again',
    request: event('payment-status'),
    before: [{ operation: 'delivery', kind: 'drop-after', times: 1 }],
    expected: { answers: ['no answer', 200], topic: 'payment-status', records: 2 },
  },
];

export async function deliverAll(the: ControlFixture, say: (line: string) => void): Promise<Sent[]> {
  const sent: Sent[] = [];
  let first = '';
  for (const { what, request, before, expected } of DELIVERIES) {
    if (before) await the.sandbox.call('PUT', '/_sandbox/faults', { json: before });
    const [execution] = await the.trigger({ wait: 'final', ...request });
    if (!execution) throw new Error(`the sandbox delivered nothing for ${what}`);
    first ||= execution.id;
    const answers = execution.attempts.map(({ status }) => status ?? 'no answer');
    const eventId = execution.status === 200 ? JSON.parse(execution.responseBody).eventId : null;
    sent.push({ what, answers, eventId, message: execution.sentBody, expected });
    say(`  ${answers.join(', then ').padEnd(20)} ${what}`);
  }
  return [...sent, await replay(the, first, sent[0] as Sent, say)];
}

/** The first webhook once more, by a command: the same event, which its id tells. */
async function replay(
  the: ControlFixture,
  executionId: string,
  first: Sent,
  say: (line: string) => void,
): Promise<Sent> {
  const result = await the.run({ type: 'webhook.replay', ref: 'ledger-eu', executionIds: [executionId] });
  say(`  ${result.status.padEnd(20)} webhook.replay of the first one, by a command`);
  const answers = [result.status === 'SUCCEEDED' ? 200 : result.status];
  return {
    ...first,
    what: 'the first one again, replayed by a command',
    answers,
    expected: { ...first.expected, answers: [200] },
  };
}
