import { expect, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { serve } from '../support/serve.ts';

/** What the sandbox answers where it has sent more than it keeps. */
async function trigger(answer: object, ...options: string[]) {
  await using sandbox = await serve((_, response) => response.end(JSON.stringify(answer)));
  return await cli({ SANDBOX_URL: sandbox.url }, 'trigger', 'payment-status', '--count', '5', ...options);
}

const kept = [
  {
    id: 'a',
    type: null,
    entityId: null,
    url: 'u',
    status: 200,
    error: null,
    attempts: [],
    responseBody: null,
  },
];
const answer = { executions: kept, pending: 0, sent: 5, failed: 0 };

it.each<[string, object, string[], number]>([
  ['all were stored', { ...answer, answers: { 200: 5 } }, [], 0],
  ['one that is no longer kept was refused', { ...answer, failed: 1, answers: { 200: 4, 410: 1 } }, [], 1],
  ['one had no answer', { ...answer, failed: 1, answers: { 200: 4, none: 1 } }, [], 1],
  ['one was stored at its second attempt', { ...answer, answers: { 200: 5, 503: 1 } }, ['--final'], 0],
  ['one failed for good', { ...answer, failed: 1, answers: { 200: 4, 503: 9 } }, ['--final'], 1],
])(
  'judges deliveries that the sandbox no longer keeps by its counters: %s',
  async (_, given, options, code) => {
    const { exitCode, notes } = await trigger(given, ...options);
    expect([exitCode, notes]).toEqual([code, expect.stringContaining('1 of 5 are shown')]);
  },
);

it('says nothing of that where all are kept', async () => {
  const { exitCode, notes } = await trigger({ ...answer, sent: 1, answers: { 200: 1 } });
  expect([exitCode, notes]).toEqual([0, '']);
});

const attempted = (attempts: number) => ({
  ...kept[0],
  status: attempts > 0 ? 503 : null,
  attempts: Array(attempts).fill({}),
});

it.each<[string, number[], string[], string]>([
  ['was refused', [1], [], '1 is not delivered; the sandbox sends it again'],
  [
    'was refused, and is waited for',
    [3],
    ['--final'],
    '1 is not delivered within 60 s; the sandbox sends it again',
  ],
  ['had no answer', [0], [], '1 had no answer within 60 s'],
  [
    'had no answer, and others were refused',
    [0, 1, 1],
    [],
    '1 had no answer within 60 s\n2 are not delivered; the sandbox sends them again',
  ],
])('says of what is not delivered whether it %s', async (_, attempts, options, said) => {
  const executions = attempts.map(attempted);
  const { exitCode, notes } = await trigger({ executions, pending: executions.length }, ...options);
  expect([exitCode, notes]).toEqual([1, said]);
});
