import { type CommandTopic, refPatternsOf } from '../../config/command-topics.ts';
import { envReader } from '../../config/env.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { Dialect } from '../../provider/dialect.ts';
import { dialectSettings } from '../../provider/settings.ts';
import { readSubscriptions } from '../shell/read-own-topics.ts';
import { checkCommandTopic } from '../shell/send-commands.ts';
import type { Shell } from '../shell/shell.ts';
import type { CommandChannel } from './command-channel.ts';
import { type Plan, planChanges } from './plan.ts';
import { askProvider } from './read-present.ts';
import { readWanted, type WantedSubscriptions } from './read-wanted.ts';

/** Reads a file of subscriptions with the event names of the dialect. @throws ConfigError */
export const readWantedFile = (shell: Pick<Shell, 'source'>, file: string, text: string) =>
  readWanted(file, text, dialectOf(shell));

function dialectOf({ source }: Pick<Shell, 'source'>): Dialect {
  const reader = envReader(source);
  return reader.done(reader.read(dialectSettings)).dialect;
}

/** Without a difference nothing is created anew. */
const NOT_ASKED = { drift: [], listsNone: false };

/**
 * The plan of what is wanted. A plan with conflicts must not be applied.
 * @throws UsageError if the file's topic is none for commands
 */
export async function makePlan(
  shell: Shell,
  channel: CommandChannel,
  wanted: WantedSubscriptions,
  {
    refresh,
    timeoutMs,
    commandTopics,
  }: {
    readonly refresh: boolean;
    readonly timeoutMs: number;
    readonly commandTopics: readonly CommandTopic[];
  },
): Promise<Plan> {
  const topic = wanted.topic ?? topicName(channel.config.topics.prefix, OWN_TOPICS.commands);
  checkCommandTopic("the file's topic", topic, channel.config);
  // Read the state after the comparison, so that it contains what control compared with.
  const seen = refresh ? await askProvider(channel, topic, timeoutMs) : NOT_ASKED;
  const records = await readSubscriptions(shell, channel);
  const refPatterns = refPatternsOf(commandTopics, topic);
  return planChanges(wanted, topic, { records, ...seen, dialect: dialectOf(shell), refPatterns });
}
