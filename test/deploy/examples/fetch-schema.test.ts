import avro from 'avsc';
import { expect, it } from 'vitest';
import { createSchemaFetcher } from '../../../deploy/examples/ledger/fetch-schema.ts';
import { serve } from '../../support/serve.ts';

it('fetches a schema by its id, gives what is no Avro as it is, and rejects where the registry says no', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    '/api/schemas/ids/7': { schema: '{"type":"record","name":"R","fields":[]}' },
    '/api/schemas/ids/8': { schema: 'syntax = "proto3";', schemaType: 'PROTOBUF' },
    '/api/schemas/ids/10': { status: 'ok' },
    '/api/schemas/ids/11': { schema: '{"type":"record","name":"R","fields":[]}', references: [{}] },
  };
  await using registry = await serve(({ url = '' }, response) => {
    if (url.endsWith('/12')) response.end('<html>');
    else if (answers[url] === undefined) response.writeHead(503).end();
    else response.end(JSON.stringify(answers[url]));
  });
  const schemaOf = createSchemaFetcher(`${registry.url}/api/`);
  expect(await schemaOf(7)).toBeInstanceOf(avro.Type);
  expect(await schemaOf(8)).toBe('syntax = "proto3";');
  await expect(schemaOf(9)).rejects.toThrow('/api/schemas/ids/9 answers 503');
  for (const id of [10, 11, 12])
    await expect(schemaOf(id)).rejects.toThrow('no schema that stands by itself');
});

it('rejects where there is no registry, with an error at which kafkajs tries again', async () => {
  const failing = createSchemaFetcher('http://127.0.0.1:9')(7);
  await expect(failing).rejects.toThrow('/schemas/ids/7 does not answer');
  await expect(failing).rejects.not.toBeInstanceOf(TypeError);
});

it('rejects where the registry takes the request and never answers', async () => {
  await using registry = await serve(() => {});
  await expect(createSchemaFetcher(registry.url)(7)).rejects.toThrow('does not answer');
});
