import avro from 'avsc';

const TIMEOUT_MS = 10_000;

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
    const { schema } = (await response.json()) as { schema: string };
    try {
      return avro.Type.forSchema(JSON.parse(schema));
    } catch {
      return schema;
    }
  };
