import { expect, inject, it } from 'vitest';
import { attackByProvider, SHORT_FORM } from './provider.ts';

it('no answer of the provider stops control: each command ends, and the next one succeeds', async () => {
  const stack = inject('stack');
  const rows = await attackByProvider({ stack, only: SHORT_FORM, deadlineMs: 2_000, log: () => {} });
  expect(rows.filter(({ ok }) => !ok)).toEqual([]);
  expect(rows).toHaveLength(SHORT_FORM.length);
}, 400_000);
