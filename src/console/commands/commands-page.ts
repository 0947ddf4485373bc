import { commandSchemasIn } from '../../avro/command-schemas.ts';
import { shellCommand } from '../../core/shell-word.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { address, formValue, type Html, html } from '../page/html.ts';
import {
  definePage,
  type Fields,
  type LiveUpdate,
  type Page,
  PageError,
  type PageRequest,
} from '../page/page.ts';
import { time } from '../page/parts.ts';
import type { HeldResult } from '../results/held-results.ts';
import type { ReadFailure, ResultLog } from '../results/result-log.ts';
import { commandForm, fieldsOf } from './command-form.ts';
import { SentCommands, sendCommand } from './send-command.ts';
import { failureOf, resultFacts, resultTable } from './show-results.ts';

type Commands = {
  readonly ref: string;
  readonly isPartial: boolean;
  readonly failure: ReadFailure | null;
  readonly results: readonly HeldResult[];
};

/** Of more the page would be long: the JSON answer has as many. */
const SHOWN = 50;
/** At the latest, an open page looks so often whether results can still be read. */
const LOOK_MS = 5_000;

/** Sends commands by a form, shows what became of them, and the history of a ref. */
export function commandPages(deps: ConsoleDeps, results: () => Promise<ResultLog>): readonly Page[] {
  const { config } = deps;
  const schemas = commandSchemasIn(config.schemas.dir);
  const fields = fieldsOf(JSON.parse(schemas.command.codec.schema));
  const topics = config.commands.topics.map(({ name }) => name);
  const events = Object.keys(config.provider.dialect.eventNames);
  const sent = new SentCommands();
  const formOf = (values: Fields, { csrfField }: PageRequest) =>
    commandForm({ fields, topics, events, values, csrfField });
  const refOf = ({ query }: PageRequest) => query.ref ?? '';
  const look = async (request: PageRequest): Promise<Commands> => {
    const log = await results();
    const ref = refOf(request);
    const { isPartial, failure } = log;
    return { ref, isPartial, failure, results: log.latest(ref || undefined).slice(0, SHOWN) };
  };
  const history = ({ ref, results: found, isPartial, failure }: Commands): Html => html`<section id="history">
<h2>${ref ? html`History of ${ref}` : 'Latest results'}</h2>
${failureOf(failure)}
${resultTable(found)}
${isPartial && html`<p class="quiet">Earlier results are in the topic: the command below shows them.</p>`}</section>`;

  const list = definePage<Commands>({
    path: '/commands',
    title: 'Commands',
    subject: refOf,
    navigation: 'Commands',
    role: 'view',
    cli: (request) =>
      refOf(request)
        ? shellCommand('hookline inspect', refOf(request))
        : 'hookline tail command-results --since 1d',
    data: look,
    render(data, request) {
      const search = html`<form method="get" action="/commands" class="search"><label for="of-ref">History of a ref</label> <input id="of-ref" name="ref" value="${formValue(data.ref)}" autocomplete="off" spellcheck="false"> <button class="second">Show</button></form>`;
      if (!request.may('operate')) return html`${search}${history(data)}`;
      const form = formOf({ ref: data.ref, dryRun: 'true' }, request);
      return html`<div class="form-beside"><section><h2>Send a command</h2>${form}</section><div>${search}${history(data)}</div></div>`;
    },
    async *live(request): AsyncIterable<LiveUpdate> {
      const log = await results();
      let seen = '';
      while (!request.signal.aborted) {
        const shown = history(await look(request));
        const text = String(shown);
        if (text !== seen) yield { id: 'history', html: shown };
        seen = text;
        // That nothing can be read is no news of the log.
        await log.next(AbortSignal.any([request.signal, AbortSignal.timeout(LOOK_MS)]));
      }
    },
    changes: [{ ...sendCommand(deps, topics, sent), again: formOf }],
  });

  type One = { commandId: string; sent: object | null; result: HeldResult | null };
  const one = async ({ params: { commandId = '' } }: PageRequest): Promise<One> => {
    const result = (await results()).of(commandId) ?? null;
    const found = sent.of(commandId);
    if (!result && !found)
      throw new PageError(
        404,
        `Neither a result of ${commandId} is known here, nor was it sent from here. ${shellCommand('hookline inspect', commandId)} searches the topics.`,
      );
    return { commandId, result, sent: found ? { ...found.command, topic: found.topic } : null };
  };
  const outcome = ({ commandId, result, sent: command }: One): Html => html`<section id="outcome">${
    result ? resultFacts(result) : html`<p class="verdict quiet">Sent, and not finished yet.</p>`
  }
${command && html`<h2>The command</h2><pre tabindex="0">${JSON.stringify(command, null, 2)}</pre>`}
<p><a href="${address('/commands', { ref: result?.ref ?? '' })}">All commands${result?.ref && ` of ${result.ref}`}</a>${result && html` <span class="quiet">finished ${time(result.finishedAt)}</span>`}</p>
<p class="quiet">Command <code>${commandId}</code></p></section>`;

  const single = definePage<One>({
    path: '/commands/:commandId',
    title: 'Command',
    subject: ({ params: { commandId = '' } }) => commandId,
    role: 'view',
    cli: ({ params }) => shellCommand('hookline inspect', params.commandId ?? ''),
    data: one,
    // Around what is replaced: a screen reader follows what stays.
    render: (data) => html`<div aria-live="polite">${outcome(data)}</div>`,
    async *live(request): AsyncIterable<LiveUpdate> {
      const log = await results();
      // A result does not change: the page is done with it.
      while (!request.signal.aborted) {
        const found = await one(request);
        yield { id: 'outcome', ...(found.result && { html: outcome(found) }) };
        await log.next(request.signal);
      }
    },
  });
  return [list, single];
}
