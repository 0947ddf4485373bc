import { expect, it } from 'vitest';
import { showBody, showDeadLetter } from '../../../src/cli/dlq/show-dead-letter.ts';
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

const topic = { bodiesOf: async () => new Map([[deadLetter({}).at, Buffer.from([0, 255])]]) };

/** What is written to standard output, and to standard error. */
async function written(file: string | undefined) {
  const [out, notes]: [Buffer[], string[]] = [[], []];
  const shell = { write: async (bytes: Buffer) => out.push(bytes), note: (line: string) => notes.push(line) };
  await showBody(shell as never, deadLetter({}), topic as never, file);
  return { out: Buffer.concat(out), notes };
}

it('a body goes to standard output where no file is named, byte for byte', async () => {
  expect(await written(undefined)).toEqual({ out: Buffer.from([0, 255]), notes: [] });
});

it('a file that cannot be written is named, with the remedy', async () => {
  await expect(written('/dev/null/none')).rejects.toThrow(
    /^\/dev\/null\/none cannot be written \(.*\): give a folder that can be written, or write to standard output with --body > FILE$/,
  );
  await expect(written('/dev/null')).rejects.toThrow('/dev/null exists: give the name of a new file');
});
