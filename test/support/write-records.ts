import type { Message } from 'kafkajs';
import { testKafka } from './topic-reader.ts';

/** Writes records past Hookline, as anybody else with the right can. */
export async function writeRecords(
  env: Readonly<Record<string, string | undefined>>,
  topic: string,
  messages: Message[],
): Promise<void> {
  const producer = testKafka(env).producer();
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages });
  } finally {
    await producer.disconnect();
  }
}
