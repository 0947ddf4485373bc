import { isoOf } from '../../core/instant.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { parsePosition, positionText } from '../../core/record.ts';
import { shellCommand, shellWord } from '../../core/shell-word.ts';
import { newId } from '../../crypto/ids.ts';
import type { DeadLetter } from '../../dead-letters/dead-letters.ts';
import { causeOf, describeDeadLetter } from '../../dead-letters/describe-dead-letter.ts';
import { pause } from '../../runtime/clock.ts';
import { boundedTopics } from '../index/bounded-kafka.ts';
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
import { DeadLetterBook } from './dead-letter-book.ts';
import { groupByCause } from './group-by-cause.ts';
import { jobChanges, jobNamed } from './job-changes.ts';
import { type Job, Jobs } from './jobs.ts';
import { filterOptions, selectionOf } from './selection.ts';
import { jobOf, jobSection } from './show-job.ts';
import { type DeadLetterList, listPageOf, listSection, openWords, selectedSection } from './show-list.ts';
import { type OneDeadLetter, onePageOf } from './show-one.ts';

/** Records of a page of the list. */
const SHOWN = 50;
/** Between two looks at a job. */
const JOB_MS = 500;
/** Between two updates of a list, which is made of all records that are held. */
const LIST_MS = 3_000;

/** Begins to read the dead-letter topic. */
export function deadLetterBook({ config, kafka, clock, logger, add }: ConsoleDeps, turns: Turns) {
  const topic = topicName(config.topics.prefix, OWN_TOPICS.deadLetter);
  const onFailure = (err: Error) => logger.warn({ topic, err }, 'dead-letter records cannot be read now');
  const openTopic = boundedTopics(kafka, turns, 'index');
  return add('dead letters', new DeadLetterBook({ openTopic, clock, topic, onFailure }));
}

/** What was dead-lettered: by cause, as a list, one by one; and the jobs that redrive and dismiss. */
export function deadLettersPages(deps: ConsoleDeps, book: DeadLetterBook): readonly Page[] {
  const { config, clock } = deps;
  const topic = topicName(config.topics.prefix, OWN_TOPICS.deadLetter);
  const jobs = deps.add('jobs', new Jobs(clock, newId));
  const look = ({ query }: PageRequest): DeadLetterList => {
    const { conditions, filter, parsed } = selectionOf(query);
    const { deadLetters, isPartial, openNotHeld, read, total, failure } = book.deadLetters();
    const matching =
      filter.length === 0 ? deadLetters : deadLetters.filter((deadLetter) => parsed.matches(deadLetter));
    const page = Math.max(1, Math.min(Number(query.page) || 1, Math.ceil(matching.length / SHOWN)));
    const shown = filter.length === 0 ? [] : matching.toReversed().slice((page - 1) * SHOWN, page * SHOWN);
    return {
      topic,
      conditions,
      filter,
      isPartial,
      openNotHeld,
      read,
      total,
      failure,
      page,
      heldSince: deadLetters[0]?.time ?? null,
      latest: latestOf(matching),
      groups: groupByCause(matching, clock.wall()),
      deadLetters: shown.map(describeDeadLetter),
      matching: matching.length,
      pages: Math.ceil(matching.length / SHOWN),
      running: jobs.running ?? null,
      jobs: jobs.all().slice(0, 5),
    };
  };
  const shared = new OncePerState<readonly LiveUpdate[]>();
  const find = ({ params: { at = '' } }: PageRequest): DeadLetter => {
    const position = parsePosition(at);
    if (!position) throw new PageError(400, `${at} is no position: give partition:offset, such as 2:17.`);
    const name = positionText(position);
    const isIt = (deadLetter: DeadLetter) =>
      deadLetter.at === name || deadLetter.copies.some((copy) => positionText(copy) === name);
    const found = book.deadLetters().deadLetters.find(isIt);
    if (!found)
      throw new PageError(
        404,
        `The console holds no dead-letter record ${name}: hookline dlq show ${name} looks for it in the topic.`,
      );
    return found;
  };
  return [
    definePage<DeadLetterList>({
      path: '/dead-letters',
      title: 'Dead letters',
      subject: ({ query }) => selectionOf(query).filter.join(', '),
      navigation: 'Dead letters',
      role: 'view',
      data: async (request) => look(request),
      render: listPageOf,
      cli: ({ query }) => `hookline dlq list${filterOptions(selectionOf(query).filter)}`,
      async *live(request) {
        let seen = '';
        while (!request.signal.aborted) {
          // Of all jobs the latest alone changes; a short one has ended before anybody has seen it run.
          const [job] = jobs.all();
          const state = `${book.version} ${job?.id} ${job?.status} ${job?.progress}`;
          if (state !== seen)
            // Ages count from now: what was made for another page a while ago is not this page's.
            yield* shared.get(
              `${state} ${Math.floor(clock.now() / LIST_MS)}`,
              JSON.stringify(request.query),
              () => {
                const list = look(request);
                return [
                  { id: 'deadLetters', html: listSection(list) },
                  { id: 'selected', html: selectedSection(openWords(list.groups, list.openNotHeld), list) },
                ];
              },
            );
          seen = state;
          await pause(clock, LIST_MS, request.signal);
        }
      },
      changes: jobChanges(deps, jobs),
    }),
    definePage<OneDeadLetter>({
      path: '/dead-letters/:at',
      title: 'Dead-letter record',
      subject: ({ params: { at = '' } }) => at,
      role: 'view',
      data: async (request) => {
        const deadLetter = find(request);
        return {
          ...describeDeadLetter(deadLetter),
          ...causeOf(deadLetter),
          key: deadLetter.key,
          headers: deadLetter.headers,
        };
      },
      render: onePageOf,
      cli: ({ params }) => shellCommand('hookline dlq show', params.at ?? ''),
    }),
    definePage<Job>({
      path: '/dead-letters/jobs/:id',
      title: 'Job',
      subject: ({ params: { id = '' } }) => id,
      role: 'view',
      data: async ({ params }) => jobNamed(jobs, params.id ?? ''),
      render: jobOf,
      cli: ({ params }) => commandOf(jobNamed(jobs, params.id ?? '')),
      async *live(request) {
        let seen: Job | undefined;
        while (!request.signal.aborted) {
          const job = jobs.get(request.params.id ?? '');
          if (job && job !== seen) yield { id: 'job', html: jobSection(job, request) };
          // A stream that ends would be opened again and again.
          if (!job || job.endedAt !== null) return untilGone(request.signal);
          seen = job;
          await pause(clock, JOB_MS, request.signal);
        }
      },
    }),
  ];
}

const latestOf = (sorted: readonly DeadLetter[]) => {
  const last = sorted.at(-1);
  return last ? isoOf(last.time) : null;
};

const commandOf = ({ kind, isDry, again, filter, reason }: Job): string =>
  [
    `hookline dlq ${kind}${filterOptions(filter)}`,
    ...(reason === null ? [] : ['--reason', shellWord(reason)]),
    ...(again ? ['--again'] : []),
    ...(isDry ? ['--dry-run'] : []),
  ].join(' ');

/** What many open pages show of the same state is made once, and forgotten with the state. */
export class OncePerState<T> {
  #state = '';
  readonly #made = new Map<string, T>();

  /** @param key what it depends on beside the state */
  get(state: string, key: string, make: () => T): T {
    if (state !== this.#state) this.#made.clear();
    this.#state = state;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(key, made);
    return made;
  }
}
