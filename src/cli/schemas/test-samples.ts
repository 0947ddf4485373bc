import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EventSchemaSet, readEventSchemas } from '../../avro/event-schema.ts';
import { HEADER_LENGTH } from '../../avro/record-codec.ts';
import { readSchemaFiles } from '../../avro/schema-files.ts';
import { NotJson } from '../../core/json-scanner.ts';
import { loadConfig } from '../shell/connections.ts';
import { jsonValue, printFields } from '../shell/print-rows.ts';
import { type ExitCode, type Shell, UsageError } from '../shell/shell.ts';

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
  readonly record: Readonly<Record<string, unknown>> | null;
};

/** `hookline schemas test <paths>`: needs neither Kafka nor a registry. Exit code 1 unless every sample is typed without drift. */
export async function testSamples(
  shell: Shell,
  paths: readonly string[],
  { junit, json = false }: TestOptions,
): Promise<ExitCode> {
  const { schemas } = loadConfig(shell, 'schemas');
  const events = readEventSchemas(readSchemaFiles(schemas.dir, 'events'));
  const samples = paths.flatMap(filesIn);
  if (samples.length === 0) throw new UsageError(`no *.json file in ${paths.join(', ')}.`);
  const results = samples.map((sample) => testSample(sample, readFileSync(sample), events));
  if (junit !== undefined) writeFileSync(junit, junitOf(results));
  if (json) shell.print(JSON.stringify(results, jsonValue, 2));
  else for (const result of results) print(shell, result);
  const failed = results.filter(({ fault }) => fault !== null).length;
  shell.note(`${results.length} sample(s), ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function filesIn(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const entries = readdirSync(path, { withFileTypes: true, recursive: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.json'));
    return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

export function testSample(sample: string, message: Buffer, events: EventSchemaSet): SampleResult {
  const failed = (fault: string): SampleResult => ({ sample, topic: null, drift: [], fault, record: null });
  if (!isUtf8(message)) return failed('it is not UTF-8: its webhook would be dead-lettered (PARSE)');
  try {
    const first = events.unclassified.transcoder.find(message);
    first.drop();
    const { rawType } = first;
    const schema = events.claiming(rawType) ?? events.unclassified;
    const found = schema.transcoder.find(message);
    const drifted = new Set<string>();
    const value = found.write(
      { eventId: '00000000-0000-8000-8000-000000000000', subscription: 'sample', receivedAt: 0 },
      0,
      (field) => drifted.add(field),
    );
    found.drop();
    const record = schema.codec.decode(value.subarray(HEADER_LENGTH));
    const drift = [...drifted];
    const isTyped = schema !== events.unclassified;
    const unclaimed = `no schema claims the type ${JSON.stringify(rawType)}: it would go to ${schema.topic}`;
    const fault = !isTyped ? unclaimed : drift.length > 0 ? `drift: ${drift.join(', ')}` : null;
    return { sample, topic: isTyped ? schema.topic : null, drift, fault, record };
  } catch (error) {
    if (error instanceof NotJson) return failed('it is not JSON: its webhook would be dead-lettered (PARSE)');
    throw error;
  }
}

function print(shell: Shell, { sample, topic, fault, record }: SampleResult): void {
  printFields(shell, {
    sample,
    result: fault === null ? 'ok' : 'FAILED',
    topic,
    fault,
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
