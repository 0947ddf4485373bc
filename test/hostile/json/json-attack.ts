import { join } from 'node:path';
import { probe } from '../../bench/large/cases.ts';
import { makeRequest, SUBSCRIPTION } from '../../bench/load/bodies.ts';
import { postSigned } from '../../support/sign.ts';
import type { SeenRecord } from '../../support/topic-reader.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import type { Attack } from '../attack.ts';
import type { Target } from '../target.ts';
import { JSON_CASES, type JsonCase } from './json-cases.ts';

/** What the main thread may work at a stretch, waiting for a core left out. */
const LONGEST_WORK_MS = 250;

/** Sends each body, signed, and an honest webhook behind each. @returns what was not as it should be, in words */
async function attackWithJson(fixture: Fixture, target: Target): Promise<string[]> {
  const url = `${target.origin}/webhooks/${SUBSCRIPTION.ref}`;
  const problems: string[] = [];
  const expected: { one: JsonCase; eventId: string }[] = [];
  await probe(target.process);
  for (const [n, one] of JSON_CASES.entries()) {
    const { status, text } = await postSigned(url, SUBSCRIPTION, one.body);
    const { stall } = await probe(target.process);
    if (status === 200) expected.push({ one, eventId: JSON.parse(text).eventId });
    else problems.push(`${one.name}: answered ${status}`);
    if (stall.cpuMs > LONGEST_WORK_MS) {
      problems.push(`${one.name}: the main thread worked ${Math.round(stall.cpuMs)} ms at a stretch`);
    }
    const next = await postSigned(url, SUBSCRIPTION, makeRequest(n, 'plain').body);
    if (next.status !== 200) problems.push(`${one.name}: the next webhook was answered ${next.status}`);
  }
  return [...problems, ...(await notWhereExpected(fixture, expected))];
}

async function notWhereExpected(
  fixture: Fixture,
  expected: readonly { one: JsonCase; eventId: string }[],
): Promise<string[]> {
  const topics = ['payment-status', 'unclassified', 'dead-letter'] as const;
  const found = new Map<string, string>();
  for (const topic of topics) {
    for (const record of await fixture.read(topic, 0)) found.set(eventIdOf(record), topic);
  }
  return expected
    .filter(({ one, eventId }) => found.get(eventId) !== one.topic)
    .map(({ one, eventId }) => `${one.name}: in ${found.get(eventId) ?? 'no topic'}, not in ${one.topic}`);
}

const eventIdOf = ({ headers, key }: SeenRecord) =>
  headers.ce_id ?? headers['hookline.event-id'] ?? key ?? '';

export const JSON_ATTACK: Attack = {
  name: 'json',
  what: 'hostile JSON in webhooks with a valid signature',
  short: true,
  ownTopics: true,
  smallOnly: true,
  env: () => ({ NODE_OPTIONS: `--import ${join(import.meta.dirname, 'stall-probe.ts')}` }),
  async run({ fixture, target }) {
    const problems = await attackWithJson(fixture, target);
    return { note: `${JSON_CASES.length} bodies`, problems };
  },
};
