import { describe, expect, it } from 'vitest';
import { RunningProcess } from '../support/running-process.ts';
import { until } from '../support/until.ts';

const fixture = (way: string, env: Readonly<Record<string, string>> = {}) =>
  new RunningProcess('test/runtime/process-shell.fixture.ts', env, [way]);
const messages = ({ lines }: RunningProcess) =>
  lines.map(({ msg, component, waitingFor }) =>
    [msg, component ?? waitingFor].filter(Boolean).flat().join(' '),
  );

describe('a process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'stops its components in reverse at %s, exit code 0',
    async (signal) => {
      await using running = fixture('as usual');
      await running.logged('started');
      running.kill(signal);
      expect(await running.end()).toBe(0);
      expect(messages(running)).toEqual(['started', 'stopping', 'stopped second', 'stopped first']);
    },
  );

  it('warns of a variable that looks like a setting, without its value', async () => {
    await using running = fixture('as usual', { FIXTURE_USERNMAE: 'somebody' });
    await running.logged('started');
    expect(running.lines[0]).toMatchObject({ level: 'warn', variable: 'FIXTURE_USERNMAE' });
    expect(running.lines[0]?.msg).toMatch(/not read: did you mean FIXTURE_USERNAME\?$/);
    expect(JSON.stringify(running.lines)).not.toContain('somebody');
  });

  it('gives up a start that still waits, exit code 0', async () => {
    await using running = fixture('waiting start');
    await running.logged('started');
    running.kill('SIGTERM');
    expect(await running.end()).toBe(0);
    expect(messages(running)).toEqual(['started', 'stopping', 'stopped second', 'stopped first']);
  });

  it('exits at once at the second signal, exit code 1', async () => {
    await using running = fixture('hang on stop');
    await running.logged('started');
    running.kill('SIGTERM');
    await running.logged('stopping');
    running.kill('SIGTERM');
    expect(await running.end()).toBe(1);
    expect(messages(running)).toEqual(['started', 'stopping']);
  });

  it('ends at the stop deadline, exit code 1, and names what has not stopped', async () => {
    await using running = fixture('hanging stop');
    await running.logged('started');
    running.kill('SIGTERM');
    expect(await running.end()).toBe(1);
    expect(messages(running)).toEqual([
      'started',
      'stopping',
      'not stopped before the deadline first second',
    ]);
  });

  it('stops its components where the start fails, exit code 1', async () => {
    await using running = fixture('failing start');
    expect(await running.end()).toBe(1);
    expect(messages(running)).toEqual(['start failed', 'stopped second', 'stopped first']);
  });

  it('names the port that is in use, and the variables that can have it', async () => {
    await using running = fixture('taken port');
    expect(await running.end()).toBe(1);
    expect(messages(running)[0]).toMatch(
      /^start failed: port \d+ of 127\.0\.0\.1 is in use by another process: .*ADMIN_PORT, INGRESS_PORT, CONSOLE_PORT or SANDBOX_PORT/,
    );
  });

  it.each([
    ['unknown host', 'the host name nowhere.invalid is unknown'],
    ['foreign address', '192.0.2.1 is no address of this machine'],
  ])('names the variables that can have an address on which it cannot listen: %s', async (way, why) => {
    await using running = fixture(way);
    expect(await running.end()).toBe(1);
    const [said] = messages(running);
    expect(said).toContain(`start failed: ${why}: correct the variable`);
    expect(said).toContain('INGRESS_HOST');
  });

  it('ends after a failed start whose components do not stop', async () => {
    await using running = fixture('failing start that hangs');
    expect(await until('it ends', () => running.exitCode)).toBe(1);
    expect(messages(running)).toEqual(['start failed', 'not stopped before the deadline first second']);
  });

  it('stops its components after a failure, exit code 1, a second failure notwithstanding', async () => {
    await using running = fixture('two failures');
    expect(await running.end()).toBe(1);
    expect(messages(running)).toEqual([
      'started',
      'another failure, the process is ending already',
      'stopping after an unhandled error',
      'stopped second',
      'stopped first',
    ]);
  });

  it('stops its components after an error that nobody handled, exit code 1', async () => {
    await using running = fixture('unhandled');
    expect(await running.end()).toBe(1);
    expect(messages(running)).toContain('stopped first');
    expect(running.lines.find(({ level }) => level === 'fatal')?.err).toMatchObject({
      message: 'nobody catches it',
    });
  });

  it('prints every fault of a configuration and nothing else, exit code 78', async () => {
    await using running = fixture('faulty configuration');
    expect(await running.end()).toBe(78);
    expect(running.lines).toEqual([]);
    expect(running.errors).toEqual([
      'The configuration has 2 faults:',
      '  KAFKA_BROKERS is not set',
      '  LOG_LEVEL is "loud"',
    ]);
  });

  it('ends with 78 for a fault of the configuration that shows later', async () => {
    await using running = fixture('faulty late');
    expect(await running.end()).toBe(78);
    expect(messages(running)).toEqual(['start failed', 'stopped second', 'stopped first']);
  });
});
