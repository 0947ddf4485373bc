import { expect, it } from 'vitest';
import { summaryRows } from '../../src/dead-letters/outcomes.ts';
import { deadLetter } from '../support/dead-letter.ts';

it('a summary has a row for each reason, the most frequent first, and few rows where each record has its own', () => {
  const missing = Array.from({ length: 500 }, (_, n) => ({
    deadLetter: deadLetter({ at: `0:${n}` }),
    outcome: 'refused' as const,
    message: `s3://bucket/${n} is not there`,
  }));
  const alike = Array.from({ length: 40 }, (_, n) => ({
    deadLetter: deadLetter({ at: `1:${n}` }),
    outcome: 'stored' as const,
    to: `payments.payment-status[0]@${n}`,
  }));
  const failed = { deadLetter: deadLetter({ at: '2:0' }), outcome: 'failed' as const, message: 'no broker' };
  const rows = summaryRows([...missing, ...alike, failed], false);
  expect(rows).toHaveLength(21);
  expect(rows.shift()).toMatchObject({ records: 1, outcome: 'failed', why: 'no broker' });
  expect(rows[0]).toMatchObject({ records: 40, outcome: 'stored', where: 'payments.payment-status' });
  expect(rows[1]).toMatchObject({ records: 1, why: 's3://bucket/0 is not there', which: '0:0' });
  expect(rows.at(-1)).toMatchObject({
    records: 482,
    outcome: 'cannot be redriven',
    which: '0:18 0:19 0:20 …',
  });
  expect(rows.reduce((sum, { records }) => sum + records, 0)).toBe(540);
});
