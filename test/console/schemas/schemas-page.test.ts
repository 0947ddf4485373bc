import { expect, it } from 'vitest';
import { schemasPage } from '../../../src/console/schemas/schemas-page.ts';

it('takes samples up to a length: a page of their record may be a hundred times as long', () => {
  const config = { schemas: { dir: 'schemas' }, topics: { prefix: 'payments' } };
  const [change] = schemasPage({ config } as never, { pods: () => null } as never).changes ?? [];
  const read = (length: number) => change?.read({ message: 'x'.repeat(length) }, {} as never);
  expect(read(65_536)).toEqual({ message: 'x'.repeat(65_536) });
  expect(() => read(65_537)).toThrow('65536 at most are accepted: run hookline schemas test FILE');
});
