import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import { TopicSafety } from '../../../src/kafka/admin/watch-safety.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { until } from '../../support/until.ts';

const SAFE = { 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'false' };
const UNSAFE = { ...SAFE, 'unclean.leader.election.enable': 'true' };
/** What the brokers answer to one reading: settings, or an error. */
type Answer = Record<string, string> | Error;

/** Brokers that give these answers, one for each reading, the last one again and again. */
function scripted(...answers: Answer[]) {
  let readings = 0;
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    describeConfigs: async () => {
      const answer = answers[Math.min(readings++, answers.length - 1)] as Answer;
      if (answer instanceof Error) throw answer;
      const configEntries = Object.entries(answer).map(([configName, configValue]) => ({
        configName,
        configValue,
      }));
      return { resources: [{ resourceName: 't', configEntries }] };
    },
    fetchTopicMetadata: async () => ({ topics: [{ name: 't', partitions: [{ replicas: [1, 2, 3] }] }] }),
  };
  const reported: string[] = [];
  const kafka = { admin: () => admin } as unknown as KafkaClient;
  const observer = {
    verdict: (topic: string, unsafe: string | null) =>
      void reported.push(`${topic} ${unsafe ? 'unsafe' : 'safe'}`),
    changed: (topic: string, unsafe: string | null) =>
      void reported.push(`${topic} turns ${unsafe ? 'unsafe' : 'safe'}`),
    warning: (text: string) => void reported.push(text),
  };
  const safety = new TopicSafety({ kafka, topics: ['t'], minInsyncReplicas: 2, observer, intervalMs: 1 });
  return {
    safety,
    reported,
    check: () => safety.check(kafka.admin()),
    /** Until so many readings were made, and nothing more comes. */
    async watchUntil(count: number) {
      safety.watch();
      await until(`${count} readings`, () => readings > count);
      await safety.stop();
    },
  };
}

const gone = () => new Error('no broker answers');

describe('at the start', () => {
  it('one reading decides: an unsafe topic ends it, with topic, value and remedy', async () => {
    const { check, safety } = scripted(UNSAFE, SAFE);
    await expect(check()).rejects.toMatchObject({
      code: 'TOPICS_UNSAFE',
      message: expect.stringMatching(/t: unclean.leader.election.enable is true.*hookline topics apply/),
    });
    expect(safety.trouble()).toMatch(/^TOPICS_UNSAFE: /);
    await check();
    expect(safety.trouble()).toBeNull();
  });

  it('brokers that cannot be asked are a warning', async () => {
    const { check, reported } = scripted(gone());
    await check();
    expect(reported).toEqual(['whether topics can lose records is not known: no broker answers']);
  });
});

describe('while the process runs', () => {
  it('two readings in a row decide, either way', async () => {
    const { safety, reported, watchUntil } = scripted(
      SAFE,
      UNSAFE,
      SAFE,
      UNSAFE,
      UNSAFE,
      SAFE,
      UNSAFE,
      SAFE,
      SAFE,
    );
    await watchUntil(9);
    const until9 = reported.slice(0, reported.indexOf('t turns safe') + 1);
    expect(until9).toEqual([
      't safe',
      't safe',
      't unsafe',
      't turns unsafe',
      't unsafe',
      't safe',
      't turns safe',
    ]);
    expect(safety.trouble()).toBeNull();
  });

  it('brokers that cannot be asked are a warning once, also where another one is named each time', async () => {
    const { reported, watchUntil } = scripted(new Error('a: no answer'), new Error('b: no answer'), gone());
    await watchUntil(5);
    expect(reported).toEqual(['whether topics can lose records is not known: a: no answer']);
  });

  it('brokers that cannot be asked are a warning again where the cause is another one', async () => {
    const unavailable = new HooklineError('KAFKA_UNAVAILABLE', 'a');
    const refused = new HooklineError('KAFKA_REFUSED', 'a');
    const { reported, watchUntil } = scripted(
      unavailable,
      new HooklineError('KAFKA_UNAVAILABLE', 'b'),
      refused,
    );
    await watchUntil(5);
    expect(reported).toEqual(
      [unavailable, refused].map(({ message }) => `whether topics can lose records is not known: ${message}`),
    );
  });

  it('unknown values keep the verdict, and are reported once', async () => {
    const { safety, reported, watchUntil } = scripted(UNSAFE, UNSAFE, gone(), gone(), {}, gone());
    await watchUntil(8);
    expect(safety.trouble()).toContain('TOPICS_UNSAFE');
    expect(reported.filter((one) => one.startsWith('t '))).toEqual(['t unsafe', 't turns unsafe']);
    expect(reported.filter((one) => !one.startsWith('t '))).toEqual([
      'whether topics can lose records is not known: no broker answers',
      't: whether it can lose records is not known: the brokers do not report min.insync.replicas, unclean.leader.election.enable',
      'whether topics can lose records is not known: no broker answers',
    ]);
  });
});
