import { isUtf8 } from 'node:buffer';
import { readFileSync, writeFileSync } from 'node:fs';
import { type EventSchemaSet, eventSchemasIn } from '../../avro/event-schema.ts';
import { HEADER_LENGTH } from '../../avro/record-codec.ts';
import { hasCode, UsageError } from '../../core/errors.ts';
import { NotJson } from '../../core/json-scanner.ts';
import { topicName } from '../../core/names.ts';
import { encodeByPolicy } from '../../delivery/encode-by-policy.ts';
import { type Config, loadConfig } from '../shell/connections.ts';
import { jsonValue, printFields } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { sampleFiles } from './sample-files.ts';

export type TestOptions = { readonly junit?: string; readonly json?: boolean };

/** What a sample message becomes. */
export type SampleResult = {
  readonly sample: string;
  /** Without the prefix; null where no schema claims its type, or it is not JSON. */
  readonly topic: string | null;
  /** Dotted paths of values that do not fit their fields, each once. */
  readonly drift: readonly string[];
  /** Why it would not become a typed event without drift; null where it would. */
  readonly fault: string | null;
  /** Where the message is kept; null where the sample becomes no event. */
  readonly message: 'in the record' | 'in the object store' | 'nowhere' | null;
  readonly record: Readonly<Record<string, unknown>> | null;
};

/** `hookline schemas test <paths>`: needs neither Kafka nor a registry. Exit code 1 unless every sample is typed without drift. */
export async function testSamples(
  shell: Shell,
  paths: readonly string[],
  { junit, json = false }: TestOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell, 'schemas', 'topics', 'bodyStore');
  const events = eventSchemasIn(config.schemas.dir);
  const samples = sampleFiles(paths);
  if (samples.length === 0) throw new UsageError(`no *.json file in ${paths.join(', ')}.`);
  const results = samples.map((sample) => testSample(sample, readFileSync(sample), events, config));
  if (junit !== undefined) writeFileSync(junit, junitOf(results));
  if (json) shell.print(JSON.stringify(results, jsonValue, 2));
  else for (const result of results) print(shell, result);
  const failed = results.filter(({ fault }) => fault !== null).length;
  shell.note(`${results.length} sample(s), ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Both depend on the subscription and the hour: a sample has neither. */
const EVENT_ID = '00000000-0000-8000-8000-000000000000';
const RECEIVED_AT = 0;

/** @param sample how the result names it */
export function testSample(
  sample: string,
  message: Buffer,
  events: EventSchemaSet,
  config: Config<'topics' | 'bodyStore'>,
): SampleResult {
  const failed = (fault: string, topic: string | null = null): SampleResult => {
    return { sample, topic, drift: [], fault, message: null, record: null };
  };
  if (!isUtf8(message)) return failed('it is not UTF-8: its webhook would be dead-lettered (PARSE)');
  let topic: string | null = null;
  try {
    const first = events.unclassified.transcoder.find(message);
    first.drop();
    const { rawType } = first;
    const schema = events.claiming(rawType) ?? events.unclassified;
    const isTyped = schema !== events.unclassified;
    topic = isTyped ? schema.topic : null;
    const route = { schema, schemaId: 0, topic: topicName(config.topics.prefix, schema.topic) };
    const found = schema.transcoder.find(message);
    const drifted = new Set<string>();
    const encoded = encodeByPolicy(
      {
        message,
        route,
        found,
        isTaken: false,
        envelope: { eventId: EVENT_ID, subscription: 'sample', receivedAt: RECEIVED_AT },
        record: { topic: route.topic, key: Buffer.from(found.entityId ?? EVENT_ID), headers: new Map() },
      },
      {
        claims: schema.source === 'keep' ? storeOf(config) : (storeOf(config) ?? ANY_STORE),
        limitOf: () => Number.POSITIVE_INFINITY,
        drift: (field) => drifted.add(field),
      },
    );
    found.drop();
    const record = schema.codec.decode((encoded.record.value as Buffer).subarray(HEADER_LENGTH));
    const drift = [...drifted];
    const unclaimed = `no schema claims the type ${JSON.stringify(rawType)}: it would go to ${schema.topic}`;
    const fault = !isTyped ? unclaimed : drift.length > 0 ? `drift: ${drift.join(', ')}` : null;
    const inRecord = record.source === null ? 'nowhere' : 'in the record';
    return {
      sample,
      topic,
      drift,
      fault,
      message: encoded.object ? 'in the object store' : inRecord,
      record,
    };
  } catch (error) {
    if (error instanceof NotJson)
      return failed('it is not a JSON object: its webhook would be dead-lettered (PARSE)');
    if (!hasCode(error, 'UNENCODABLE')) throw error;
    return failed(`${error.message}: its webhook would be dead-lettered (ENCODE)`, topic);
  }
}

type Claims = NonNullable<Parameters<typeof encodeByPolicy>[1]['claims']>;

const storeAt = (root: string, maxRecordBytes: number): Claims => ({
  maxRecordBytes,
  uriOf: ({ topic }) => `${root}/${topic}/{yyyy}/{mm}/{dd}/{eventId}.json`,
});

/** A type that does not keep its messages needs an object store, whether it is known here or not. */
const ANY_STORE = storeAt('{BODY_STORE}', Number.POSITIVE_INFINITY);

function storeOf({ bodyStore: { address, claimCheckBytes } }: Config<'bodyStore'>): Claims | undefined {
  if (!address) return undefined;
  const { bucket, prefix } = address;
  return storeAt(`s3://${[bucket, prefix].filter(Boolean).join('/')}`, claimCheckBytes);
}

function print(shell: Shell, { sample, topic, fault, message, record }: SampleResult): void {
  printFields(shell, {
    sample,
    result: fault === null ? 'ok' : 'FAILED',
    topic,
    fault,
    message,
    record: record && JSON.stringify(record, jsonValue),
  });
  shell.print('');
}

/** As continuous integration systems read it: a test case for each sample. */
export function junitOf(results: readonly SampleResult[]): string {
  const failures = results.filter(({ fault }) => fault !== null).length;
  const cases = results.map(({ sample, topic, fault }) => {
    const head = `    <testcase classname="${xml(topic ?? 'none')}" name="${xml(sample)}"`;
    return fault === null
      ? `${head}/>`
      : `${head}>\n      <failure message="${xml(fault)}"/>\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="hookline schemas test" tests="${results.length}" failures="${failures}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** What XML 1.0 cannot hold is left out. */
const xml = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it leaves out
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);
