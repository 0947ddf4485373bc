import { expect, it } from 'vitest';
import { type SentCommand, SentCommands, sendCommand } from '../../../src/console/commands/send-command.ts';
import type { ConsoleDeps } from '../../../src/console/page/console-deps.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';

const change = sendCommand({} as ConsoleDeps, ['payments.commands'], new SentCommands());
const commandOf = (fields: object) =>
  (
    change.read({ type: 'subscription.delete', ref: 'eu', ...fields }, {
      user: { name: 'otto' },
    } as PageRequest) as SentCommand
  ).command;

it('is a dry run where that is asked for in any of its words, and is refused with another word', () => {
  for (const yes of [true, 'true', 'yes']) expect(commandOf({ dryRun: yes }).dryRun).toBe(true);
  for (const no of [undefined, false, 'false', 'no']) expect(commandOf({ dryRun: no }).dryRun).toBe(false);
  for (const word of ['1', 'on', 'True', 1])
    expect(() => commandOf({ dryRun: word })).toThrow('dryRun must be true or false');
});

it('keeps the id that a program gives, which sends again what may have been sent', () => {
  expect(commandOf({ commandId: 'c-1' }).commandId).toBe('c-1');
  expect(commandOf({}).commandId).toMatch(/^[0-9a-f-]{36}$/);
});

it('takes every field of the schema that a user may set, and none beside', () => {
  expect(change.fields).toEqual(expect.arrayContaining(['ifMatch', 'dryRun', 'executionIds', 'expiresAt']));
  expect(change.fields).not.toContain('issuedBy');
});
