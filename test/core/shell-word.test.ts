import { expect, it } from 'vitest';
import { shellCommand } from '../../src/core/shell-word.ts';
import { shellLine } from '../support/shell-line.ts';

it('a command names its argument first', () => {
  expect(shellCommand('hookline tail', 'payments.audit', [false, '--reveal'])).toBe(
    'hookline tail payments.audit --reveal',
  );
});

it.each([
  ['hookline inspect', '-id', ['--limit 1']],
  ['hookline inspect', "--reveal'", []],
  ['hookline tail', '-topic', ['--since 1h', '--key -key', '--reveal']],
])('%s takes %s as its argument, and not as an option', async (command, argument, options) => {
  const line = shellCommand(command, argument, options);
  // Where the words are understood, the next thing that is missing are the brokers.
  const { stderr } = await shellLine(line).catch((error: { stderr: string }) => error);
  expect(stderr).toContain('KAFKA_BROKERS');
  expect(stderr).not.toContain('unknown option');
});
