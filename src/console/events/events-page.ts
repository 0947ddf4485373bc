import { createWriterReader } from '../../avro/record-reader.ts';
import { topicsToSearch } from '../../cli/inspect/search-topics.ts';
import type { Mask } from '../../cli/shell/mask.ts';
import { topicName } from '../../core/names.ts';
import { type IncomingRecord, parsePosition, positionText } from '../../core/record.ts';
import { shellWord } from '../../core/shell-word.ts';
import { boundedTopics } from '../index/bounded-kafka.ts';
import { OpenTopics } from '../index/open-topics.ts';
import type { Turns } from '../index/turns.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import {
  definePage,
  type LiveUpdate,
  type Page,
  PageError,
  type PageRequest,
  untilGone,
} from '../page/page.ts';
import { createReveal, isRevealing } from '../page/reveal.ts';
import { filterOf } from './filter.ts';
import { followTail, readOne, readRecent } from './read-tail.ts';
import { type Events, eventsOf, newsOf, recordsOf, type Topics, tailOf, topicsOf } from './show-events.ts';
import { type ShownRecord, showRecord } from './show-record.ts';
import { TopicList } from './topic-list.ts';

/** Records of a page. */
const SHOWN = 20;
/** Records that an open page keeps. */
const KEPT = 50;

/** The topics, and one topic's records: the latest ones, those that arrive, or a single one. */
export function eventsPages(deps: ConsoleDeps, turns: Turns): readonly Page[] {
  const { config, kafka, clock } = deps;
  const { prefix } = config.topics;
  const read = createWriterReader(deps.registry);
  const reveal = createReveal(config);
  const tail = { openTopic: boundedTopics(kafka, turns, 'tail'), clock };
  const open = deps.add('events', new OpenTopics(tail));
  const commandTopics = config.commands.topics.map(({ name }) => name);
  const topics = new TopicList({ clock, ask: () => topicsToSearch(kafka, prefix, commandTopics) });
  const topicOf = async ({ params: { topic = '' } }: PageRequest): Promise<string> => {
    const found = await topics.find([topic, topicName(prefix, topic)]);
    if (found === undefined)
      throw new PageError(404, `There is no topic ${topic}: /events lists those that there are.`);
    return found;
  };
  const show = (records: readonly IncomingRecord[], mask: Mask): Promise<ShownRecord[]> =>
    Promise.all(records.map((record) => showRecord(record, read, mask)));
  const look = async (request: PageRequest, mask: Mask): Promise<Events> => {
    const topic = await topicOf(request);
    const holds = recordsOf(topic, topics.kindOf(topic) ?? 'event', prefix);
    const filter = filterOf(request.query);
    const { at } = request.query;
    if (at) {
      const position = parsePosition(at);
      if (!position)
        throw new PageError(400, `at is ${JSON.stringify(at)}: give partition:offset, such as 2:17.`);
      const record = await open.use(topic, (reader) => readOne(reader, position));
      if (!record) throw new PageError(404, `${topic} has no record ${at}: retention may have deleted it.`);
      return { topic, holds, at, filter, records: await show([record], mask), looked: 1, total: 1 };
    }
    const { records, looked, total } = await open.use(topic, (reader) => readRecent(reader, filter, SHOWN));
    return { topic, holds, at: null, filter, records: await show(records, mask), looked, total };
  };
  return [
    definePage<Topics>({
      path: '/events',
      title: 'Events',
      navigation: 'Events',
      role: 'view',
      data: async () => ({
        topics: [...(await topics.all())].map(([topic, kind]) => ({
          topic,
          kind,
          records: recordsOf(topic, kind, prefix),
        })),
      }),
      render: topicsOf,
      cli: () => 'hookline tail TOPIC',
    }),
    definePage<Events>({
      path: '/events/:topic',
      title: 'Records of a topic',
      subject: ({ params: { topic = '' }, query: { at } }) => (at ? `${at} of ${topic}` : topic),
      role: 'view',
      data: (request) =>
        turns.page(() => reveal.show(request, (mask) => look(request, mask), 'reveal records', auditedOf)),
      render: eventsOf,
      cli: commandOf,
      async *live(request): AsyncIterable<LiveUpdate> {
        // A record does not change, and a stream that ends would be opened again and again.
        if (request.query.at) {
          yield { id: 'records' };
          return untilGone(request.signal);
        }
        const topic = await topicOf(request);
        const by = Object.keys(filterOf(request.query));
        // The records that are there already were told of when the page was loaded.
        const arriving = () => ({ topic, by, records: 'those that arrive from now on' });
        const mask = await reveal.show(request, async (one) => one, 'reveal records', arriving);
        for await (const { records, skipped } of followTail(
          tail,
          topic,
          filterOf(request.query),
          request.signal,
        )) {
          yield { id: 'records' };
          for (const html of newsOf(await show(records, mask), skipped))
            yield { id: 'records', how: 'prepend', keep: KEPT, html };
        }
      },
    }),
  ];
}

/** Which records were shown, and by which conditions they were found: the values of these can be what is masked. */
export const auditedOf = ({ topic, at, filter, records }: Events): object => ({
  topic,
  by: at === null ? Object.keys(filter) : ['at'],
  records: records.map(positionText),
});

function commandOf(request: PageRequest, events?: Events): string {
  const { key } = filterOf(request.query);
  const options = [
    ...(key === undefined ? [] : ['--key', shellWord(key)]),
    ...(isRevealing(request) ? ['--reveal'] : []),
  ];
  return tailOf(request.params.topic ?? '', events?.records ?? [], options);
}
