import { expect, it } from 'vitest';
import { showDeadLetter } from '../../../src/cli/dlq/show-dead-letter.ts';
import { deadLetter } from '../../support/dead-letter.ts';

const ESCAPE = '\u001b';

it('a foreign key and headers neither control the terminal nor look like further lines', () => {
  const lines: string[] = [];
  const stranger = deadLetter({ eventId: `x\nremedy none needed${ESCAPE}[2J` });
  const shell = { print: (line: string) => lines.push(line) };
  expect(showDeadLetter(shell as never, stranger, { json: false, body: undefined })).toBe(0);
  expect(lines.filter((line) => line.includes('\n') || line.includes(ESCAPE))).toEqual([]);
  expect(lines).toContain('key       x\\nremedy none needed\\u001b[2J');
  expect(lines.filter((line) => line.startsWith('remedy'))).toHaveLength(1);
});
