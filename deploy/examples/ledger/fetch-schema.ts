import avro from 'avsc';

const TIMEOUT_MS = 10_000;

type Answer = { schema?: unknown; schemaType?: string; references?: unknown[] };

/**
 * Fetches a writer's schema by its id. A registry that does not answer in time rejects, so that the event is tried again: without a limit
 * a consumer would wait for ever. What is no Avro, such as Protobuf, is given as it is.
 */
export const createSchemaFetcher =
  (registryUrl: string) =>
  async (id: number): Promise<unknown> => {
    const url = `${registryUrl.replace(/\/+$/, '')}/schemas/ids/${id}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((cause) => {
      // kafkajs ends for good at the TypeError that a failed fetch is.
      throw new Error(`${url} does not answer`, { cause });
    });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    const answer = (await response.json().catch(() => null)) as Answer | null;
    // Something that stands before the registry answers too.
    if (typeof answer?.schema !== 'string' || answer.references?.length)
      throw new Error(`${url} answers no schema that stands by itself`);
    const { schema, schemaType = 'AVRO' } = answer;
    return schemaType === 'AVRO' ? avro.Type.forSchema(JSON.parse(schema)) : schema;
  };
