import { describe, expect, it } from 'vitest';
import { Answers } from '../traffic/answers.ts';
import { Webhooks } from '../traffic/webhooks.ts';
import { faultsOf, judge } from './judge.ts';
import { Stored } from './stored.ts';

/** The oracle is the one part that nobody tests by running it: here each of its findings is provoked. */
const SEED = 1;
const webhooks = new Webhooks(SEED);

type Told = { number: number; status?: number; tookMs?: number; sentAt?: number; stored?: string };

function judged(told: readonly Told[], stored: (into: Stored) => void, wrong = { taken: 0, wrongIds: 0 }) {
  const answers = new Answers();
  for (const { number, status = 200, tookMs = 10, sentAt = 0 } of told) {
    answers.add({ entity: 5, number, sentAt, tookMs, status, spooled: false });
  }
  const into = new Stored({ seed: SEED, checksIds: true });
  stored(into);
  const sent = { answers, tampered: { sent: 9, taken: wrong.taken }, wrongIds: wrong.wrongIds, errors: {} };
  return judge({ sent, stored: into, faultTimes: [{ from: 100, to: 200 }], deadlineMs: 1_000 });
}

const record = (number: number, change: { source?: string; eventId?: string } = {}) => ({
  eventId: change.eventId ?? webhooks.eventIdOf(5, number),
  source: change.source ?? webhooks.messageOf(5, number),
});
const store =
  (...numbers: number[]) =>
  (into: Stored) => {
    for (const number of numbers) into.add(record(number), 'e-5');
  };
const acked = (...numbers: number[]) => numbers.map((number) => ({ number }));

describe('the oracle', () => {
  it('finds nothing where everything is stored in order; what was not acknowledged may be there or not', () => {
    const verdict = judged(
      [...acked(0, 1), { number: 2, status: 503 }, { number: 3, status: 0 }],
      store(0, 1, 3),
    );
    expect(faultsOf(verdict)).toEqual([]);
    expect(verdict).toMatchObject({
      acked: 2,
      duplicates: 0,
      unanswered: 1,
      statuses: { 200: 2, 503: 1, 0: 1 },
    });
  });

  it('counts what was acknowledged and is not there', () => {
    expect(faultsOf(judged(acked(0, 1, 2), store(0, 2)))).toEqual(['1 lost']);
  });

  it('counts repetitions, which are no fault', () => {
    const verdict = judged(acked(0, 1), store(0, 1, 0, 1, 1));
    expect([verdict.duplicates, faultsOf(verdict)]).toEqual([3, []]);
  });

  it('counts first appearances behind a later event', () => {
    expect(faultsOf(judged(acked(0, 1, 2, 3), store(0, 3, 1, 2, 1)))).toEqual(['2 out of order']);
  });

  it.each([
    ['source', { source: webhooks.messageOf(5, 0).replace('1.50', '1.5') }],
    ['event id', { eventId: webhooks.eventIdOf(5, 1) }],
  ])('sees another %s', (_, change) => {
    expect(faultsOf(judged(acked(0), (into) => into.add(record(0, change), 'e-5')))).toEqual(['1 altered']);
  });

  it('sees another key, and an answer with another event id', () => {
    expect(faultsOf(judged(acked(0), (into) => into.add(record(0), 'e-6')))).toEqual(['1 altered']);
    expect(faultsOf(judged(acked(0), store(0), { taken: 0, wrongIds: 1 }))).toEqual(['1 altered']);
  });

  it('sees what had been refused, what nobody sent, and a tampered one that was taken', () => {
    const refused = String(webhooks.tamperedRequest(5, 3).body);
    const all = (into: Stored) => {
      store(0)(into);
      into.add({ eventId: 'x', source: refused }, 'e-5');
      into.add({ eventId: 'x', source: '{}' }, null);
    };
    expect(faultsOf(judged(acked(0), all, { taken: 1, wrongIds: 0 }))).toEqual(['3 wrongly stored']);
  });

  it('tells late answers, the longest one, and the share of 200s while a fault stood', () => {
    const verdict = judged(
      [
        { number: 0, tookMs: 1_200 },
        { number: 1, sentAt: 100 },
        { number: 2, sentAt: 150, status: 503 },
        { number: 2, sentAt: 200 },
      ],
      store(0, 1, 2),
    );
    expect(verdict).toMatchObject({ late: 1, longestAnswerMs: 1_200, okInFaults: 0.5 });
  });
});
