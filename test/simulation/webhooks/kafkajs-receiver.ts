import kafkajs from 'kafkajs';
import { HooklineError } from '../../../src/core/errors.ts';
import type { Actor } from '../engine/simulation.ts';
import type { Webhook } from './messages.ts';
import type { Receiver, StartReceiver } from './receiver.ts';

/**
 * What one writes first, as test/bench/naive/ does it: a `send` of kafkajs for each webhook, and 200 when it resolves. It is
 * there to show that the simulation finds what kafkajs loses.
 */
export const startKafkajsReceiver: StartReceiver = async ({ cluster }, actor) => {
  const kafka = new kafkajs.Kafka({
    clientId: 'naive-receiver',
    brokers: cluster.bootstrap,
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ allowAutoTopicCreation: false, createPartitioner });
  await producer.connect();
  return receiverOver(producer, actor);
};

function receiverOver(producer: kafkajs.Producer, actor: Actor): Receiver {
  return {
    actor,
    backlogBytes: 0,
    outstanding: 0,
    trouble: () => null,
    async receive({ kind, topic, key, message, eventId }: Webhook) {
      if (kind === 'tampered') throw new HooklineError('UNAUTHENTIC');
      const headers = { ce_id: eventId };
      try {
        await producer.send({ topic, acks: -1, messages: [{ key, value: message, headers }] });
      } catch (cause) {
        throw new HooklineError('PUBLISH_DEADLINE', undefined, { cause });
      }
      return { eventId, stored: 'kafka' };
    },
    stop: () => producer.disconnect(),
  };
}
