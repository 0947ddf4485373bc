import { expect, it } from 'vitest';
import { RunningProcess } from '../support/running-process.ts';

/** Nothing answers there: the console starts all the same. */
const AWAY = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };

it('serves the console until it is stopped, without Kafka too, and leaves nothing behind', async () => {
  await using running = new RunningProcess('src/cli/main.ts', { ...AWAY, CONSOLE_PORT: '0' }, ['console']);
  const { port } = await running.logged('console listening');
  const url = `http://127.0.0.1:${port}`;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const page = await fetch(url, { headers: { accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('set CONSOLE_TARGETS')]);
  expect(await running.stop()).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
  expect(running.errors).toEqual([]);
});

it('says all that is wrong with the configuration, and exits with 2', async () => {
  const env = { ...AWAY, CONSOLE_HOST: '0.0.0.0', CONSOLE_PORT: 'x' };
  await using running = new RunningProcess('src/cli/main.ts', env, ['console']);
  expect(await running.end()).toBe(2);
  expect(running.errors.join('\n')).toMatch(/CONSOLE_PORT is "x"[\s\S]*CONSOLE_HOST is "0\.0\.0\.0"/);
});
