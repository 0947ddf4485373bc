/** A process of two parts, as the test's first argument has it: how it starts, fails and stops. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, text } from '../../src/config/env.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { configOrExit, runProcess } from '../../src/runtime/process-shell.ts';

const settings = { fixture: { name: text('FIXTURE_USERNAME', { about: 'a name', fallback: '' }) } };
const [way] = process.argv.slice(2);
const logger = createLogger({ name: 'fixture', level: 'info' });
const never = new Promise<void>(() => {});
/** Something that keeps the process alive, as a listening port does. */
const alive = setInterval(() => {}, 60_000);

if (way === 'faulty configuration') {
  configOrExit(() => {
    throw new ConfigError(['KAFKA_BROKERS is not set', 'LOG_LEVEL is "loud"']);
  });
}

await runProcess({
  groups: settings,
  config: {},
  env: process.env,
  logger,
  stopDeadlineMs: way === 'hanging stop' || way === 'failing start that hangs' ? 200 : 20_000,
  start: async (parts) => {
    parts.add('first', { stop: async () => clearInterval(alive) });
    parts.add('second', { stop: () => (way?.includes('hang') ? never : sleep(20)) });
    if (way?.startsWith('failing start')) throw new Error('the port is taken');
    if (way === 'taken port') {
      const address = { host: '127.0.0.1', port: 0 };
      const taken = createServer().listen(address);
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      await once(createServer().listen({ ...address, port }), 'listening');
    }
    if (way === 'unknown host')
      await once(createServer().listen({ host: 'nowhere.invalid', port: 0 }), 'listening');
    if (way === 'foreign address')
      await once(createServer().listen({ host: '192.0.2.1', port: 0 }), 'listening');
    if (way === 'faulty late') throw new ConfigError(['SCHEMAS_DIR is at fault']);
    if (way === 'waiting start') {
      logger.info('started');
      await sleep(60_000, undefined, { signal: parts.stopping });
    }
    logger.info('started');
    if (way === 'two failures') {
      parts.fail(new Error('the consumer has ended'));
      parts.fail(new Error('so has the other'));
    }
    if (way === 'unhandled') void Promise.reject(new Error('nobody catches it'));
  },
});
