import { expect, it } from 'vitest';
import { openRanges, type RangeReader, withRanges } from '../../../src/kafka/consume/range-reader.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

it('a reading ends with the stop of its reader', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a');
  const reader = await openRanges({ openTopic: topic.open, topic: 't', clock: manualClock() });
  const seen: string[] = [];
  const reading = reader.read(
    [{ partition: 0, from: 0n, to: 9n }],
    ({ value }) => void seen.push(String(value)),
  );
  const ended = expect(reading).rejects.toThrow('aborted');
  await until('the first is there', () => seen.length === 1);
  await reader.stop();
  await ended;
});

it('a partition that the topic does not have is waited for without asking again and again', async () => {
  const topic = new ScriptedTopic([1]);
  const clock = manualClock();
  const reader = await openRanges({ openTopic: topic.open, topic: 't', clock });
  const reading = reader.read([{ partition: 7, from: 0n, to: 1n }], () => {});
  const ended = expect(reading).rejects.toMatchObject({
    message: 'no record came for 30 s',
    cause: { message: 'the topic has none of the partitions that are read' },
  });
  await clock.advance(30_000);
  await ended;
  expect(topic.lookUps).toBeLessThan(100);
});

it('waits for a record that comes slowly, as long as something of it comes', async () => {
  const topic = new ScriptedTopic([1]);
  const clock = manualClock();
  let receivedBytes = 0;
  const openTopic = () => ({ ...topic.open(), receivedBytes: () => receivedBytes });
  const reader = await openRanges({ openTopic, topic: 't', clock });
  const seen: string[] = [];
  const reading = reader.read(
    [{ partition: 0, from: 0n, to: 1n }],
    ({ value }) => void seen.push(String(value)),
  );
  for (let n = 0; n < 4; n++) {
    receivedBytes += 2_000_000;
    await clock.advance(30_000);
  }
  topic.append(0, 'a');
  await reading;
  expect(seen).toEqual(['a']);

  const ended = expect(reader.read([{ partition: 0, from: 1n, to: 2n }], () => {})).rejects.toThrow(
    'no record came',
  );
  // Empty answers have some bytes too.
  receivedBytes += 10_000;
  await clock.advance(30_000);
  await ended;
});

it('waits for what takes a record before it hands over the next, however long all of them take', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, 'a', 'b');
  const clock = manualClock();
  const reader = await openRanges({ openTopic: topic.open, topic: 't', clock });
  const seen: string[] = [];
  const take = async ({ value }: { value: Buffer | null }) => {
    seen.push(String(value));
    await clock.sleep(20_000);
  };
  const reading = reader.read([{ partition: 0, from: 0n, to: 2n }], take);
  await until('the first is there', () => seen.length === 1);
  await clock.advance(19_000);
  expect(seen).toEqual(['a']);
  await clock.advance(1_000);
  await until('the second is there', () => seen.length === 2);
  await clock.advance(20_000);
  await reading;
});

it('a topic is closed when the work on it ends, fails or is aborted, be that before it is open', async () => {
  const clock = manualClock();
  const run = async <T>(work: (reader: RangeReader) => Promise<T>, signal?: AbortSignal) => {
    const topic = new ScriptedTopic([1]);
    topic.append(0, 'a');
    const done = withRanges({ openTopic: topic.open, topic: 't', clock }, work, signal);
    const end = await done.catch(({ message }: Error) => message);
    return [end, topic.isClosed];
  };
  const stop = new AbortController();
  const readOf = (to: bigint, onRecord: () => void) => (reader: RangeReader) =>
    reader.read([{ partition: 0, from: 0n, to }], onRecord);
  const whole = readOf(1n, () => {});
  expect(await run(whole, stop.signal)).toEqual([undefined, true]);
  expect(await run(() => Promise.reject(new Error('not this one')))).toEqual(['not this one', true]);
  const aborted = ['This operation was aborted', true];
  expect(
    await run(
      readOf(9n, () => stop.abort()),
      stop.signal,
    ),
  ).toEqual(aborted);
  expect(await run(whole, stop.signal)).toEqual(aborted);
});
