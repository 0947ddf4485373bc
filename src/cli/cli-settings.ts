import { integer, list } from '../core/env-settings.ts';
import { OWN_TOPICS, topicName } from '../core/topics.ts';

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

export const maxBodySettings = {
  maxBodyBytes: integer('MAX_BODY_BYTES', {
    about: 'largest body that is taken',
    fallback: String(50 * 1024 * 1024),
    min: 1,
  }),
};
