import { expect, it } from 'vitest';
import { noteReasons } from '../../src/cli/spool-command.ts';
import { HooklineError } from '../../src/core/errors.ts';

const denied = (key: string) =>
  new HooklineError('BODY_STORE_REFUSED', `AccessDenied on ${key}`, { remedy: 'allow s3:PutObject' });
const full = new HooklineError('BODY_STORE_UNAVAILABLE', '507: InsufficientStorage');
const kafka = new HooklineError('KAFKA_UNAVAILABLE', 'no answer');

it('a drain names each reason when it begins, not at each try, whatever object the store names', () => {
  const notes: string[] = [];
  const { notTaken, drainFailed } = noteReasons({ note: (line) => notes.push(line) });
  for (const key of ['a', 'b', 'c']) notTaken(denied(key));
  for (const error of [kafka, kafka]) drainFailed(error);
  for (const error of [denied('d'), full, full, denied('e')]) notTaken(error);
  drainFailed(new Error('disk'));
  expect(notes).toEqual([
    expect.stringMatching(/^Waiting for the object store: .*AccessDenied on a.*: allow s3:PutObject$/),
    expect.stringMatching(/^Trying again: .*no answer/),
    expect.stringMatching(/^Waiting for the object store: .*507: InsufficientStorage/),
    expect.stringMatching(/^Waiting for the object store: .*AccessDenied on e/),
    'Trying again: disk',
  ]);
});
