import { expect, it } from 'vitest';
import { groupByCause } from '../../../src/console/dead-letters/group-by-cause.ts';
import {
  type DeadLetterList,
  listPageOf,
  listSection,
  openWords,
} from '../../../src/console/dead-letters/show-list.ts';
import { html } from '../../../src/console/page/html.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';
import { deadLetter } from '../../support/dead-letter.ts';

const GROUPS = groupByCause([deadLetter(), deadLetter({ at: '0:1' })], 2_000);
const LIST: DeadLetterList = {
  topic: 't',
  conditions: {},
  filter: [],
  groups: GROUPS,
  deadLetters: [],
  matching: 2,
  page: 1,
  pages: 1,
  isPartial: false,
  openNotHeld: 0,
  heldSince: 1_000,
  latest: null,
  read: 2,
  total: 2,
  failure: null,
  running: null,
  jobs: [],
};

it('says of what is not held how much it is, which command lists it, and that counts are at least', () => {
  const shown = String(
    listSection({ ...LIST, isPartial: true, openNotHeld: 70_000, filter: ['stage=DECRYPT'] }),
  );
  expect(shown).toContain('70000 open ones, the oldest, are not counted or listed here');
  expect(shown).toContain(
    'hookline dlq list --filter stage=DECRYPT --filter state=open --filter until=1970-01-01T00:00:01.000Z',
  );
  for (const title of ['Open', 'Redriven', 'Dismissed', 'Last hour'])
    expect(shown).toContain(`>${title}, at least<`);
  expect([openWords(GROUPS, 70_000), openWords(GROUPS, 0)]).toEqual(['at least 2', '2']);
});

it('selects nothing that came after the records that are shown, unless the selection says until when', () => {
  const request = { may: () => true, csrfField: html`` } as unknown as PageRequest;
  const untilIn = (conditions: object) =>
    String(
      listPageOf(
        { ...LIST, filter: ['stage=DECRYPT'], conditions, latest: '2026-01-01T00:00:00.000Z' },
        request,
      ),
    ).match(/<input[^>]* name="until"[^>]*>/g);
  expect(untilIn({ stage: 'DECRYPT' })).toEqual(
    ['redrive', 'dismiss'].map(
      (form) => `<input type="hidden" form="${form}" name="until" value="2026-01-01T00:00:00.000Z">`,
    ),
  );
  expect(untilIn({ until: '1h' })).toEqual([
    '<input type="hidden" name="until" value="1h">',
    '<input type="hidden" name="until" value="1h">',
  ]);
});

it('says where every open record is held', () => {
  const shown = String(listSection({ ...LIST, isPartial: true }));
  expect(shown).toContain('Every open one is here');
  expect([shown.includes('>Open<'), shown.includes('>Redriven, at least<')]).toEqual([true, true]);
});

it('never says that there is nothing where it does not know', () => {
  const none = { ...LIST, groups: [], heldSince: null };
  expect(String(listSection({ ...none, isPartial: true, openNotHeld: 5 }))).not.toContain('There are no');
  expect(String(listSection({ ...none, read: 0, total: 0, failure: 'no broker' }))).not.toContain(
    'There are no',
  );
  expect(String(listSection({ ...none, read: 1 }))).not.toContain('There are no');
  expect(String(listSection({ ...none, filter: ['stage=SPOOL'] }))).not.toContain('There are no');
  expect(String(listSection(none))).toContain('There are no dead-letter records.');
});
