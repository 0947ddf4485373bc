import { integer, list } from '../core/env-settings.ts';
import { OWN_TOPICS, topicName } from '../core/topics.ts';
import { MOST_MESSAGE_BYTES } from '../kafka/topic-specs.ts';

/** Variables of the processes that the topics' settings follow from. */
export const commandTopicSettings = (prefix: string) => ({
  commandTopics: list(
    'COMMAND_TOPICS',
    {
      about: 'topics that commands are read from, by full name',
      fallback: topicName(prefix, OWN_TOPICS.commands),
    },
    (name) => name,
  ),
});

export const recordSizeSettings = {
  maxRecordBytes: integer('MAX_RECORD_BYTES', {
    about:
      'max.message.bytes of the topics that carry bodies, where the cluster allows it; a default librdkafka consumer stops for good at a record of 100,000,000 bytes',
    fallback: '95000000',
    min: 1024,
    max: MOST_MESSAGE_BYTES,
  }),
};
