import { type EventSchema, eventSchemasIn } from '../../avro/event-schema.ts';
import { type SampleResult, testSample } from '../../cli/schemas/test-samples.ts';
import { jsonValue } from '../../cli/shell/print-rows.ts';
import { topicName } from '../../core/names.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { formValue, type Html, html } from '../page/html.ts';
import { defineChange, definePage, type Page, PageError, textOf, typedIn } from '../page/page.ts';
import { badge, counted, table } from '../page/parts.ts';
import type { Watch } from '../watch/watch.ts';
import { type Field, fieldsOf } from './schema-fields.ts';

type Type = {
  readonly topic: string;
  readonly file: string;
  readonly eventTypes: readonly string[];
  readonly source: string;
  readonly fields: readonly Field[];
  readonly drift: number;
};

/** Its record may be a hundred times as long: an array of empty values has all their fields. */
const MAX_SAMPLE = 65_536;

type Schemas = { readonly types: readonly Type[] };

/** What each event type is made of, and what a message becomes. */
export function schemasPage({ config }: ConsoleDeps, watch: Watch): Page {
  const events = eventSchemasIn(config.schemas.dir);
  const driftOf = (topic: string) => {
    const samples = (watch.pods() ?? [])
      .flatMap((pod) => pod.samples.of('hookline_schema_drift_total'))
      .filter(({ labels }) => labels.topic === topic);
    // The metric's path says nothing of arrays.
    const plain = (path = '') => path.replaceAll('[]', '');
    return (field?: string) =>
      samples
        .filter(({ labels }) => field === undefined || plain(labels.field) === plain(field))
        .reduce((total, { value }) => total + value, 0);
  };
  const describe = (schema: EventSchema): Type => {
    const { file, eventTypes, source, codec, topic: name } = schema;
    const topic = topicName(config.topics.prefix, name);
    const drift = driftOf(topic);
    return {
      topic,
      file,
      eventTypes,
      source,
      drift: drift(),
      fields: fieldsOf(JSON.parse(codec.schema), drift),
    };
  };
  const test = defineChange<{ readonly message: string }, SampleResult>({
    path: '/schemas/test',
    title: 'A sample message',
    cli: () => 'hookline schemas test FILE',
    role: 'view',
    fields: ['message'],
    read(fields) {
      const message = textOf(fields, 'message');
      if (message === '') throw new PageError(400, 'message must be the JSON of a message.');
      if (message.length > MAX_SAMPLE)
        throw new PageError(
          400,
          `message has ${message.length} characters, and ${MAX_SAMPLE} at most are accepted: run hookline schemas test FILE for it.`,
        );
      return { message };
    },
    // It needs neither Kafka nor the registry, and stores nothing.
    audited: () => null,
    make: async ({ message }) => {
      const result = testSample('the message', Buffer.from(message), events, config);
      // Large numbers as text, bytes as base64: as the CLI prints them.
      return JSON.parse(JSON.stringify(result, jsonValue));
    },
    again: (fields, { csrfField }) => sampleForm(typedIn(fields, 'message'), csrfField),
    show: showSample,
  });
  return definePage<Schemas>({
    path: '/schemas',
    title: 'Schemas',
    navigation: 'Schemas',
    role: 'view',
    cli: () => 'hookline schemas check',
    data: async () => ({ types: events.all.map(describe) }),
    render: ({ types }, { csrfField }) => html`${types.map(typeSection)}${sampleForm('', csrfField)}`,
    changes: [test],
  });
}

const typeSection = ({
  topic,
  file,
  eventTypes,
  source,
  fields,
  drift,
}: Type): Html => html`<details class="type">
<summary><strong>${topic}</strong> <span class="quiet">${eventTypes.join(', ') || 'what no other schema claims'} · ${counted(fields.length, 'field', 'fields')}</span> ${drift > 0 && badge(`${counted(drift, 'value', 'values')} did not fit`, 'note')}</summary>
<p class="quiet">File <code>schemas/${file}</code>. Messages: ${SOURCES[source] ?? source}.</p>
${table(
  `Fields of ${topic}`,
  [
    { title: 'field', cell: ({ name }: Field) => html`<code>${name}</code>`, isLong: true },
    { title: 'type', cell: ({ type }) => type },
    {
      title: 'in the message',
      cell: ({ pointer }) =>
        pointer === null ? html`<span class="quiet">Hookline's own</span>` : html`<code>${pointer}</code>`,
    },
    { title: 'tags', cell: ({ tags }) => tags.map((tag) => badge(tag, 'note')) },
    { title: 'did not fit', cell: ({ drift: count }) => (count > 0 ? String(count) : ''), isNumber: true },
  ],
  fields,
)}</details>`;

const SOURCES: Readonly<Record<string, string>> = {
  keep: 'in the record, or in the object store where the record would be too large',
  reference: 'in the object store',
  omit: 'nowhere, as all of it is in typed fields',
};

const sampleForm = (message: string, csrfField: Html): Html => html`<section><h2>What a message becomes</h2>
<form method="post" action="/schemas/test">
${csrfField}
<p class="whole"><label for="message">A message, decrypted (JSON)</label><textarea id="message" name="message" required spellcheck="false" placeholder="{ &quot;type&quot;: &quot;payment-status&quot;, &quot;entityId&quot;: &quot;e-1&quot;, &quot;payload&quot;: { } }">${formValue(message)}</textarea></p>
<p class="buttons"><button class="second">Show its record</button></p>
</form></section>`;

const showSample = ({
  topic,
  fault,
  drift,
  message,
  record,
}: SampleResult): Html => html`<p class="verdict ${fault === null ? 'good' : 'note'}">${fault === null ? `It becomes a record of ${topic}, without drift.` : fault}</p>
<dl class="facts"><dt>topic</dt><dd>${topic ?? 'none'}</dd><dt>values that do not fit</dt><dd>${drift.join(', ') || 'none'}</dd><dt>the message itself</dt><dd>${message ?? 'is not stored'}</dd></dl>
${record && html`<h2>The record</h2><pre tabindex="0">${JSON.stringify(record, null, 2)}</pre>`}
<p><a href="/schemas">Back to the schemas</a></p>`;
