import type { AvroField, AvroSchema, AvroType } from '../../avro/avro-schema.ts';
import { COMMAND_TYPES } from '../../core/command.ts';
import { formValue, type Html, html, type Shown } from '../page/html.ts';
import { type Fields, typedIn } from '../page/page.ts';

/** A field of the form, made from one of the schema. */
export type FormField = {
  readonly name: string;
  readonly kind: 'text' | 'list' | 'json' | 'flag' | 'seconds';
  readonly label: string;
  readonly about: string;
};

/** What the console fills in: who sends the command, when, and under which id. `type` has a field of its own. */
const FILLED_IN = new Set(['commandId', 'issuedBy', 'issuedAt', 'type']);

/** The form's fields, from the fields of the Command schema in their order: a new one appears by itself. */
export const fieldsOf = (schema: AvroType): FormField[] =>
  (schema.fields ?? []).filter(({ name }) => !FILLED_IN.has(name)).map(fieldOf);

function fieldOf(field: AvroField): FormField {
  const { name, type } = field;
  const about = String((field as { doc?: unknown }).doc ?? '');
  if (name === 'extra') return { name, kind: 'json', label: name, about };
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null');
  const [only] = types;
  if (only === 'boolean') return { name, kind: 'flag', label: name, about };
  if (isType(only) && only.type === 'array')
    return { name, kind: 'list', label: name, about: `${about} Several are separated by commas.` };
  if (isType(only) && only.logicalType === 'timestamp-millis')
    return { name, kind: 'seconds', label: `${name}, in seconds from now`, about };
  return { name, kind: 'text', label: name, about };
}

const isType = (schema: AvroSchema | undefined): schema is AvroType =>
  typeof schema === 'object' && !Array.isArray(schema);

export type FormState = {
  readonly fields: readonly FormField[];
  readonly topics: readonly string[];
  /** Names of events that the dialect knows. */
  readonly events: readonly string[];
  readonly csrfField: Html;
  /** What stands in the fields. */
  readonly values: Fields;
};

export const commandForm = ({
  fields,
  topics,
  events,
  csrfField,
  values,
}: FormState): Html => html`<form method="post" action="/commands">
${csrfField}
<div class="fields">
<p><label for="type">type</label><select id="type" name="type" required aria-describedby="type-hint">${optionsOf(COMMAND_TYPES, values.type)}</select><span class="hint" id="type-hint">What control is to do.</span></p>
${topics.length > 1 && html`<p><label for="topic">topic</label><select id="topic" name="topic">${optionsOf(topics, values.topic)}</select><span class="hint">A ref belongs to the topic that created it.</span></p>`}
${fields.map((field) => inputOf(field, { events, values }))}
</div>
<p class="buttons"><button>Send the command</button></p>
</form>`;

const optionsOf = (names: readonly string[], chosen: unknown): Shown =>
  names.map((name) => html`<option${name === chosen && html` selected`}>${name}</option>`);

function inputOf(
  { name, kind, label, about }: FormField,
  { events, values }: Pick<FormState, 'events' | 'values'>,
): Shown {
  const hint = html`<span class="hint" id="${name}-hint">${about}</span>`;
  if (kind === 'flag')
    return html`<p><label class="check"><input type="checkbox" id="${name}" name="${name}" value="true"${values[name] === 'true' && html` checked`} aria-describedby="${name}-hint"> ${label}</label>${hint}</p>`;
  const more = kind === 'seconds' ? html` inputmode="numeric"` : kind === 'json' && html` placeholder="{ }"`;
  const known = name === 'events' && html`<span class="hint">Known: ${events.join(', ')}</span>`;
  return html`<p><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${formValue(typedIn(values, name))}" autocomplete="off" spellcheck="false" aria-describedby="${name}-hint"${more}>${hint}${known}</p>`;
}
