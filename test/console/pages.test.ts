import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openRegistry } from '../../src/avro/open-registry.ts';
import { nodeSource } from '../../src/config/env.ts';
import { Jobs } from '../../src/console/dead-letters/jobs.ts';
import type { ConsoleDeps } from '../../src/console/page/console-deps.ts';
import type { PageRequest } from '../../src/console/page/page.ts';
import { consolePages } from '../../src/console/pages.ts';
import { loadConsoleConfig } from '../../src/console/settings/console-config.ts';
import { openKafka } from '../../src/kafka/open-kafka.ts';
import { systemClock as clock } from '../../src/runtime/clock.ts';
import { clientLog } from '../../src/runtime/logger.ts';
import { observeFiles } from '../../src/runtime/observe-files.ts';
import { observeTokens } from '../../src/tokens/observe-tokens.ts';
import { capturedLog } from '../support/captured-log.ts';
import { until } from '../support/until.ts';

const ORDER = { kind: 'redrive' as const, isDry: true, again: true };

/** All pages as the process makes them, with no brokers to reach, and a job whose order is a user's text everywhere. */
function openPages(text: string) {
  const source = nodeSource({ KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' });
  const config = loadConsoleConfig(source);
  const { logger } = capturedLog();
  const files = observeFiles(logger);
  const connecting = { files, clock, tokenLog: observeTokens(logger) };
  const kafka = openKafka({
    settings: config.kafka,
    clientId: 'test',
    log: clientLog(logger),
    ...connecting,
  });
  const registry = openRegistry(config.registry, connecting);
  const stopping = new AbortController();
  const shell = { source, print() {}, write: async () => {}, note() {}, signal: stopping.signal };
  let jobs: Jobs | undefined;
  const add: ConsoleDeps['add'] = (_, component) => {
    if (component instanceof Jobs) jobs = component;
    onTestFinished(() => component.stop());
    return component;
  };
  const pages = consolePages({ config, kafka, registry, shell, clock, logger, add });
  const order = { ...ORDER, filter: [`ref=${text}`], reason: text, by: text };
  const job = jobs?.start(
    order,
    async () => [],
    async () => {},
  );
  return { pages, job: job?.id ?? expect.fail('no job') };
}

it('says on the overview that the console cannot reach Kafka', async () => {
  const [overview] = openPages('x').pages;
  await until('the overview says so', async () => {
    const shown = await overview?.data({} as PageRequest);
    return JSON.stringify(shown).includes(
      'This console cannot read the dead-letter topic: the brokers cannot be reached',
    );
  });
});

it('offers no command that takes what a user has written for an option', () => {
  const text = '-x';
  const { pages, job } = openPages(text);
  const params = { at: text, topic: text, commandId: text, id: job };
  const query = Object.fromEntries(['ref', 'q', 'id', 'key'].map((name) => [name, text]));
  const commands = pages.map((page) =>
    page.cli({ params, query, may: () => true } as Partial<PageRequest> as PageRequest),
  );
  // Behind the option that it belongs to, or behind the end of the options.
  expect(commands.filter((command) => / (?!--)\S+ -x/.test(command))).toEqual([]);
  expect(commands).toContain('hookline tail --key -x -- -x');
});

it('offers no command that runs what a user has written', () => {
  const ran = join(mkdtempSync(join(tmpdir(), 'console-')), 'ran');
  const text = `a'"$(touch ${ran})\`touch ${ran}\`;touch ${ran};\\`;
  const { pages, job } = openPages(text);
  const params = Object.fromEntries(['at', 'topic', 'commandId'].map((name) => [name, text]));
  const query = Object.fromEntries(['ref', 'q', 'id', 'key'].map((name) => [name, text]));
  const given: string[] = [];
  for (const page of pages) {
    const request = { params: { ...params, id: job }, query, may: () => true } as Partial<PageRequest>;
    const command = page.cli(request as PageRequest);
    const script = `hookline() { printf '%s\\n' "$@"; }\n${command}`;
    given.push(...execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n'));
    expect(existsSync(ran), command).toBe(false);
  }
  expect(given).toEqual(expect.arrayContaining(['--again', '--dry-run']));
  // A filter, a topic, a key, a reason: each is one word, as it was written.
  expect(given.filter((word) => word.endsWith(text)).length).toBeGreaterThanOrEqual(8);
});
