import { expect, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import { deadLetterBook, deadLettersPages } from '../../../src/console/dead-letters/dead-letters-pages.ts';
import { Turns } from '../../../src/console/index/turns.ts';
import type { ConsoleDeps } from '../../../src/console/page/console-deps.ts';
import type { PageRequest } from '../../../src/console/page/page.ts';
import { loadConsoleConfig } from '../../../src/console/settings/console-config.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

const config = loadConsoleConfig(
  nodeSource({ KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }),
);

it('a job that ended between two updates is shown: in the page that was open, and in one opened meanwhile', async () => {
  const clock = manualClock();
  const kafka = {
    openTopic: new ScriptedTopic([1]).open,
    get openConsumer(): never {
      throw new Error('no brokers here');
    },
  };
  const opened: { stop(): Promise<void> }[] = [];
  const add = (_: string, component: { stop(): Promise<void> }) => {
    opened.push(component);
    return component;
  };
  const deps = { config, kafka, clock, add } as unknown as ConsoleDeps;
  const [list] = deadLettersPages(deps, deadLetterBook(deps, new Turns()));
  const gone = new AbortController();
  const request = { user: { name: 'otto' }, query: {}, signal: gone.signal } as unknown as PageRequest;
  const open = () => list?.live?.(request)[Symbol.asyncIterator]() ?? expect.fail('it has no updates');
  const next = async (page: AsyncIterator<{ id: string; html?: unknown }>) => {
    for (;;) {
      const { value } = await page.next();
      if (value?.id === 'deadLetters') return String(value.html);
    }
  };
  const page = open();
  expect(await next(page)).not.toContain('Latest jobs');

  const [redrive] = list?.changes ?? [];
  let isEnded = false;
  const end = async () => {
    isEnded = true;
  };
  await redrive?.make(redrive.read({ stage: 'PARSE' }, request), request, () => end);
  await until('it has ended', () => isEnded);
  expect(await next(open())).toContain('Latest jobs');
  const updated = next(page);
  await clock.advance(3_000);
  expect(await updated).toContain('Latest jobs');
  gone.abort();
  await Promise.all(opened.map((one) => one.stop()));
});
