import { createWriterReader } from '../../avro/record-reader.ts';
import { positionText } from '../../core/record.ts';
import { shellCommand } from '../../core/shell-word.ts';
import { pause } from '../../runtime/clock.ts';
import type { Turns } from '../index/turns.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { address } from '../page/html.ts';
import {
  defineChange,
  definePage,
  type LiveUpdate,
  type Page,
  PageError,
  type PageRequest,
  textOf,
} from '../page/page.ts';
import { createReveal, hiddenWord, isRevealing } from '../page/reveal.ts';
import type { Story } from './find-story.ts';
import { openFind } from './open-find.ts';
import { coverageSection, pageOf, storySection } from './show-story.ts';

/** A ref has 63 characters, an id 36; an entity may have more. */
const MAX_WANTED = 1_000;
const LOOK_MS = 1_000;

/** One field for an event id, an entity, a ref or a command id: its story, and how much of the topics it was searched in. */
export function findPage(deps: ConsoleDeps, turns: Turns): Page {
  const { config, kafka, logger, clock } = deps;
  const find = deps.add(
    'find',
    openFind({
      kafka,
      turns,
      prefix: config.topics.prefix,
      read: createWriterReader(deps.registry),
      commandTopics: config.commands.topics.map(({ name }) => name),
      indexDir: config.console.indexDir,
      indexMaxBytes: config.console.indexMaxBytes,
      onFailure: (topic, err) => logger.warn({ topic, err }, 'the index waits, and tries again'),
    }),
  );
  const reveal = createReveal(config);
  const wantedOf = ({ query }: PageRequest) => checked(query.q?.trim() ?? '');
  const tell = async (request: PageRequest): Promise<Story> => {
    const wanted = wantedOf(request);
    if (wanted === '')
      return { wanted, lines: [], earlier: [], ...find.coverage(), scan: null, unsearched: 0 };
    return reveal.show(request, (mask) => find.story(wanted, mask), 'reveal the story', auditedOf);
  };
  return definePage<Story>({
    path: '/find',
    title: 'Find',
    subject: wantedOf,
    navigation: 'Find',
    role: 'view',
    data: tell,
    render: pageOf,
    cli: (request) =>
      shellCommand('hookline inspect', wantedOf(request) || 'WHAT', [isRevealing(request) && '--reveal']),
    async *live(request): AsyncIterable<LiveUpdate> {
      const wanted = wantedOf(request);
      // Something may have changed since the page was made.
      let seen = '';
      while (!request.signal.aborted) {
        await pause(clock, LOOK_MS, request.signal);
        const state = find.stateOf(wanted);
        if (state === seen) continue;
        seen = state;
        yield { id: 'coverage', html: coverageSection(find.coverage()) };
        // What was revealed once stays as it is: each look would be an entry of the audit trail.
        if (wanted === '' || isRevealing(request)) continue;
        yield { id: 'story', html: storySection(await tell(request), request) };
      }
    },
    changes: [
      defineChange({
        path: '/find',
        title: 'Search what is not indexed',
        role: 'view',
        fields: ['q'],
        read: (fields) => {
          const wanted = checked(textOf(fields, 'q'));
          if (wanted === '')
            throw new PageError(400, 'q is empty: give an event id, an entity, a ref or a command id.');
          return { wanted };
        },
        // It reads, and changes nothing.
        audited: () => null,
        make: async ({ wanted }, { user }) => find.scan(wanted, user.name),
        show: ({ wanted }) => ({ see: address('/find', { q: wanted }) }),
      }),
    ],
  });
}

function checked(wanted: string): string {
  if (wanted.length > MAX_WANTED)
    throw new PageError(400, `What is searched for has at most ${MAX_WANTED} characters.`);
  return wanted;
}

/** Which records were shown of what was searched for. */
export const auditedOf = ({ wanted, lines }: Pick<Story, 'wanted' | 'lines'>): object => ({
  wanted: hiddenWord(wanted),
  records: [...new Set(lines.flatMap(({ at }) => (at ? [`${at.topic} ${positionText(at)}`] : [])))],
});
