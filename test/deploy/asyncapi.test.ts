import { existsSync } from 'node:fs';
import { join } from 'node:path';
import specs from '@asyncapi/specs';
import { Ajv, type Schema } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { eventSchemasIn } from '../../src/avro/event-schema.ts';
import { readProbeFile, readSchemaFiles } from '../../src/avro/schema-files.ts';
import { OWN_TOPICS } from '../../src/core/names.ts';
import { DEAD_LETTER_HEADERS } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import { readFile } from '../support/generated/files.ts';
import { ROOT } from '../support/source-tree.ts';

type Message = {
  payload: { schemaFormat?: string; schema?: { $ref: string } };
  headers?: { properties: Record<string, unknown> };
};
type Channel = { address: string; messages: Record<string, Message> };
type Document = { channels: Record<string, Channel>; operations: Record<string, { action: string }> };
const document: Document = parse(readFile('schemas/asyncapi.yaml'));
const channels = Object.values(document.channels);

describe('schemas/asyncapi.yaml', () => {
  it('is AsyncAPI 3, by its own schema', () => {
    // Its schema brings JSON Schema's own along.
    const ajv = new Ajv({
      strict: false,
      allErrors: true,
      validateFormats: false,
      meta: false,
      validateSchema: false,
    });
    const validate = ajv.compile(specs.schemas['3.0.0'] as Schema);
    validate(document);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('has every topic, and no other', () => {
    const events = eventSchemasIn(undefined).all.map(({ topic }) => topic);
    const topics = [...events, ...Object.values(OWN_TOPICS)].map((topic) => `{prefix}.${topic}`);
    expect(channels.map(({ address }) => address).sort()).toEqual(topics.sort());
  });

  it('refers to schema files that are there, and to each of them', () => {
    const payloads = channels.flatMap(({ messages }) =>
      Object.values(messages).map(({ payload }) => payload),
    );
    const refs = payloads.flatMap(({ schema }) => (schema ? [schema.$ref] : []));
    for (const ref of refs) expect(existsSync(join(ROOT, 'schemas', ref)), ref).toBe(true);
    const kinds = ['events', 'commands'] as const;
    const files = [...kinds.flatMap((kind) => readSchemaFiles(undefined, kind)), readProbeFile()];
    expect([...new Set(refs)].sort()).toEqual(files.map(({ name }) => `./${name}`).sort());
  });

  // Of another version AsyncAPI's own generators make no type, and say nothing.
  it('gives the schemas a format that AsyncAPI names', () => {
    const formats = channels.flatMap(({ messages }) =>
      Object.values(messages).flatMap(({ payload }) => payload.schemaFormat ?? []),
    );
    expect(formats.length).toBeGreaterThanOrEqual(8);
    for (const format of new Set(formats))
      expect(JSON.stringify(specs.schemas['3.0.0']), format).toContain(`"${format}"`);
  });

  it('names the headers that a redriven event has, of each topic of events', () => {
    const events = eventSchemasIn(undefined).all.map(({ topic }) => topic);
    for (const topic of events) {
      const { headers } = document.channels[topic]?.messages[topic] ?? expect.fail(topic);
      expect(Object.keys(headers?.properties ?? {})).toEqual(
        expect.arrayContaining(['hookline.redriven-at', 'hookline.redriven-from', 'hookline.redrive-count']),
      );
    }
  });

  it('has the headers of results and states, and the claims, which are not Avro', () => {
    const { 'command-results': results, subscriptions } = document.channels;
    expect(Object.keys(results?.messages['command-results']?.headers?.properties ?? {})).toEqual([
      'content-type',
    ]);
    expect(Object.keys(subscriptions?.messages.subscriptions?.headers?.properties ?? {})).toEqual([
      'content-type',
      'hookline.epoch',
    ]);
    expect(subscriptions?.messages.claim).toMatchObject({
      contentType: 'text/plain',
      headers: { required: ['hookline.epoch', 'hookline.claim'] },
      bindings: { kafka: { key: { const: '#epoch' } } },
    });
  });

  it('says what each header of a dead-letter record means, and that markers have none of its own and no value', () => {
    const messages = document.channels['dead-letter']?.messages ?? {};
    expect(Object.keys(messages)).toEqual(['dead-letter', 'redrive-marker', 'dismissal-marker']);
    const headers = Object.values(messages).flatMap((one) => Object.entries(one.headers?.properties ?? {}));
    expect(headers.map(([name]) => name).sort()).toEqual(Object.values(DEAD_LETTER_HEADERS).sort());
    for (const [name, about] of headers) expect(about, name).not.toEqual({ type: 'string', description: '' });
    for (const name of ['redrive-marker', 'dismissal-marker'])
      expect(messages[name]?.payload).toEqual({ type: 'null' });
  });

  it('says that commands come in and everything else goes out', () => {
    const incoming = Object.entries(document.operations).filter(([, { action }]) => action === 'receive');
    expect(incoming.map(([name]) => name)).toEqual(['receive-commands']);
  });
});
