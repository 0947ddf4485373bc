import type { ListedDrift } from '../../core/command.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { readSubscriptionTable } from '../../subscriptions/state-topic.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { ownRecordReader, watchReading } from '../shell/read-own-topics.ts';
import { inWords, type Shell } from '../shell/shell.ts';
import type { CommandLine } from './apply-plan.ts';

/** Every subscription's record, as the compacted topic has it now. */
export async function readRecords(
  shell: Shell,
  { config, kafka }: Pick<CommandLine, 'config' | 'kafka'>,
): Promise<readonly SubscriptionRecord[]> {
  const note = (error: unknown, at: string) =>
    shell.note(`The subscription record ${at} can't be read: ${(error as Error).message}`);
  const topic = topicName(config.topics.prefix, OWN_TOPICS.subscriptions);
  const reading = watchReading(shell, topic, kafka);
  const table = await readSubscriptionTable({
    kafka: kafka.client,
    topic,
    newGroupId: kafka.newGroupId,
    clock: kafka.clock,
    read: await ownRecordReader(config, 'subscription'),
    onBrokenOff: reading.onBrokenOff,
    ...{ onUnreadable: note, onAwaited: note, onChange() {} },
  });
  try {
    await Promise.race([table.caughtUp(shell.signal), reading.forbidden]);
    return table.all();
  } finally {
    await table.stop();
  }
}

/** Has control compare the payment service with the state: who writes commands needs no access to that service. */
export async function askForDrift(
  { results, send }: CommandLine,
  topic: string,
  timeoutMs: number,
): Promise<readonly ListedDrift[]> {
  const commandId = newId();
  const mend = 'with --no-refresh the state alone is compared with the file';
  const result = results.of(commandId, timeoutMs);
  await send(topic, [{ commandId, type: 'subscription.list' }], timeoutMs);
  const { status, message, drift } = await result.catch((error: unknown) => {
    throw new Error(`control was asked what the payment service has: ${inWords(error)} (${mend})`);
  });
  if (status !== 'SUCCEEDED')
    throw new Error(`what the payment service has is not known: ${message} (${mend})`);
  return (drift ?? []) as readonly ListedDrift[];
}
