import { commandTopicsSetting } from '../../config/command-topics.ts';
import { integer, type Setting } from '../../config/env.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { MOST_MESSAGE_BYTES } from '../admin/topic-specs.ts';

/** Variables of the processes that the topics' settings follow from. */
export const commandTopicSettings = (prefix: string) => {
  const topics = commandTopicSetting(prefix);
  const names: Setting<readonly string[]> = {
    ...topics,
    parse: (text, source) => topics.parse(text, source).map(({ name }) => name),
  };
  return { commandTopics: names };
};

/** With the refs that each topic takes. */
export const commandTopicSetting = (prefix: string) =>
  commandTopicsSetting(topicName(prefix, OWN_TOPICS.commands));

export const recordSizeSettings = {
  maxRecordBytes: integer('MAX_RECORD_BYTES', {
    about:
      'max.message.bytes of the topics that carry bodies, if the cluster allows it; a default librdkafka consumer stops for good at a record of 100,000,000 bytes',
    fallback: '95000000',
    min: 1024,
    max: MOST_MESSAGE_BYTES,
  }),
};
