import { expect, it } from 'vitest';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { dismissalMarkers, redriveMarkers } from '../../src/dead-letters/markers.ts';
import { deadLetter } from '../support/dead-letter.ts';
import { headersOf } from '../support/delivery-parts.ts';

const DISMISSAL = { reason: 'test data', by: 'ops' };
const place = (partition: number, offset: number) => ({ partition, offset: BigInt(offset) });
const namedBy = (record: OutgoingRecord) => [record.partition, headersOf(record)['hookline.redrive-of']];

it('a marker is written to the partition of its record, which its key may no longer lead to', () => {
  const one = deadLetter({ at: '4:17', eventId: 'event-1' });
  const all = [...redriveMarkers(one, 't[0]@7', 'd'), ...dismissalMarkers(one, DISMISSAL, 'd')];
  expect(all).toMatchObject(
    [1, 2].map(() => ({ topic: 'd', partition: 4, value: null, key: Buffer.from('event-1') })),
  );
  expect(all.map(headersOf)).toEqual([
    { 'hookline.redrive-of': '4:17', 'hookline.redriven-to': 't[0]@7' },
    {
      'hookline.dismissal-of': '4:17',
      'hookline.dismissed-reason': 'test data',
      'hookline.dismissed-by': 'ops',
    },
  ]);
});

it('records in several partitions have a marker in each: none of them lives longer than its own', () => {
  const copies = [place(0, 1), place(0, 2), place(5, 9)];
  const all = redriveMarkers({ ...deadLetter({ at: '0:1' }), copies }, 't[0]@7', 'd');
  expect(all.map(namedBy)).toEqual([
    [0, '0:1,0:2'],
    [5, '5:9'],
  ]);
});

it('a marker of many records names the first part and the last twenty', () => {
  const copies = Array.from({ length: 45 }, (_, n) => place(0, n));
  const [marker = expect.fail()] = redriveMarkers({ ...deadLetter({ at: '0:2' }), copies }, 't[0]@7', 'd');
  expect(namedBy(marker)).toEqual([
    0,
    ['0:2', ...copies.slice(25).map(({ offset }) => `0:${offset}`)].join(','),
  ]);
});
