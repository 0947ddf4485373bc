import { expect, it } from 'vitest';
import { showLetter } from '../../../src/cli/dlq/describe-dead-letter.ts';
import { letter } from '../../support/dead-letter.ts';

const ESCAPE = '\u001b';

it("a stranger's key and headers neither steer the terminal nor look like further lines", () => {
  const lines: string[] = [];
  const stranger = letter({ eventId: `x\nmend   none needed${ESCAPE}[2J` });
  const shell = { print: (line: string) => lines.push(line) };
  expect(showLetter(shell as never, stranger, false)).toBe(0);
  expect(lines.filter((line) => line.includes('\n') || line.includes(ESCAPE))).toEqual([]);
  expect(lines).toContain('key       x\\nmend   none needed\\u001b[2J');
  expect(lines.filter((line) => line.startsWith('mend'))).toHaveLength(1);
});
