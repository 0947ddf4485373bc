import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import registryApi, {
  type SchemaRegistryAPIClientArgs,
} from '@kafkajs/confluent-schema-registry/dist/api/index.js';
import type { Type } from 'avsc';
import { hasCode } from '../core/errors.ts';
import { moveOver } from './move-over.ts';
import { type FoundSchema, writerTypeOf } from './record-codec.ts';
import { classify, type RegistryFailure } from './registry-failure.ts';
import {
  askRegistry,
  boundedAgent,
  callRegistry,
  headersFor,
  NO_REGISTRY,
  type RegistryOptions,
} from './registry-http.ts';

/** What Hookline asks of a schema registry (Confluent's API). Nothing here is called per event. */
export type Registry = {
  /** The id under which exactly this schema is registered. Throws SCHEMA_NOT_REGISTERED, REGISTRY_UNAVAILABLE. */
  idOf(subject: string, schema: string): Promise<number>;
  /**
   * The type that a record was written with. Throws REGISTRY_UNAVAILABLE, REGISTRY_REFUSED, SCHEMA_NOT_REGISTERED, and
   * SCHEMA_INVALID where it is no Avro schema.
   */
  writerType(id: number): Promise<Type>;
  /** The versions that the schema is not compatible with, by the subject's own rule; null where the subject is new. */
  incompatibleVersions(subject: string, schema: string): Promise<readonly number[] | null>;
  /** Sets the subject's compatibility to FULL_TRANSITIVE and registers the schema. Throws SCHEMA_INCOMPATIBLE. */
  register(subject: string, schema: string): Promise<number>;
  /** See {@link moveOver}. A soft-deleted version leaves its id. */
  moveOver(subject: string, schema: string, options?: { keepsOld?: boolean }): Promise<readonly number[]>;
  /** All versions of the subject that are not deleted, the oldest first. */
  versions(subject: string): Promise<readonly RegisteredVersion[]>;
  /** The subject's rule, its own or the registry's; null where the registry does not say. */
  compatibility(subject: string): Promise<string | null>;
  subjects(): Promise<string[]>;
  /** The registry's time in whole seconds, in ms since 1970, by the Date header of an answer, a refusal too; null where it has none. */
  time(): Promise<number | null>;
};

export type RegisteredVersion = { readonly version: number; readonly schema: string };

type ApiResponse = { data<T>(): T };

export function createRegistry(options: RegistryOptions): Registry {
  const agent = boundedAgent(options);
  /** Of each request. Asked for before it: the client would hide why there is no token. */
  let headers: Readonly<Record<string, string>> = {};
  const args: SchemaRegistryAPIClientArgs = {
    host: options.url,
    ...(options.auth === undefined ? {} : { auth: { ...options.auth } }),
    agent,
    retry: { retries: 0 },
    middlewares: [sendHeaders(() => headers)],
  };
  const registry = new SchemaRegistry(args, { AVRO: { wrapUnions: 'never', omitRecordMethods: true } });
  const { Subject, Schema } = registryApi.default(args);
  /** For what the client does not have. */
  const call = <T>(method: 'GET' | 'DELETE', path: string) =>
    callRegistry<T>({ ...options, agent }, method, path);
  const send = async <T>(request: () => Promise<T>) => {
    headers = await headersFor(options);
    const { authorization } = headers;
    return request().catch((error) => Promise.reject(Object.assign(error, { authorization })));
  };
  const ask = <T>(request: () => Promise<T>) =>
    send(request)
      .catch(async (error) =>
        (await isTokenRenewed(error, options)) ? send(request) : Promise.reject(error),
      )
      .catch((error) => Promise.reject(classify(error, options)));
  const pathOf = (subject: string) => `/subjects/${encodeURIComponent(subject)}/versions`;
  const versionsOf = async (subject: string) =>
    checked(await call<number[]>('GET', pathOf(subject)).catch(orIfGone([])), Array.isArray);
  const incompatibleVersions = async (subject: string, schema: string) => {
    const incompatible: number[] = [];
    const versions = await versionsOf(subject);
    for (const version of versions) {
      const response: ApiResponse | null = await Subject.compatible({
        subject,
        version,
        body: { schema },
      }).catch(orIfGone(null));
      const isCompatible = response?.data<{ is_compatible: boolean }>().is_compatible ?? true;
      if (!isCompatible) incompatible.push(version);
    }
    return versions.length === 0 ? null : incompatible;
  };
  const avro = (schema: string) => ({ type: SchemaType.AVRO as const, schema });
  const versionOf = (subject: string, schema: string): Promise<number | null> =>
    Subject.registered({ subject, body: { schema } }).then(
      (response: ApiResponse) => response.data<{ version: number }>().version,
      (error: RegistryFailure) =>
        hasCode(classify(error, options), 'SCHEMA_NOT_REGISTERED') ? null : Promise.reject(error),
    );
  return {
    idOf: (subject, schema) =>
      ask(async () => checked(await registry.getRegistryIdBySchema(subject, avro(schema)), isId)),
    writerType: (id) =>
      ask(async () => {
        const found = ((await Schema.find({ id })) as ApiResponse).data<FoundSchema>();
        return writerTypeOf(checked(found, isSchema), async ({ subject, version }) => {
          const response: ApiResponse = await Subject.version({ subject, version });
          return checked(response.data<FoundSchema>(), isSchema);
        });
      }),
    incompatibleVersions: (subject, schema) => ask(() => incompatibleVersions(subject, schema)),
    register: (subject, schema) =>
      ask(async () => {
        const compatibility = COMPATIBILITY.FULL_TRANSITIVE;
        await Subject.updateConfig({ subject, body: { compatibility } });
        return (await registry.register(avro(schema), { subject, compatibility, updateConfig: false })).id;
      }),
    moveOver: (subject, schema, how) =>
      ask(() =>
        moveOver(
          subject,
          {
            incompatible: async () => (await incompatibleVersions(subject, schema)) ?? [],
            ownVersion: () => versionOf(subject, schema),
            setCompatibility: (compatibility) => Subject.updateConfig({ subject, body: { compatibility } }),
            register: () => Subject.register({ subject, body: { schema } }),
            remove: (version) => call('DELETE', `${pathOf(subject)}/${version}`).catch(orIfGone(null)),
            explain: (error) => classify(error, options),
          },
          how,
        ),
      ),
    versions: (subject) =>
      ask(async () => {
        const found: RegisteredVersion[] = [];
        for (const version of await versionsOf(subject)) {
          const response: ApiResponse | null = await Subject.version({ subject, version }).catch(
            orIfGone(null),
          );
          if (response)
            found.push({ version, schema: checked(response.data<FoundSchema>(), isSchema).schema });
        }
        return found;
      }),
    compatibility: (subject) =>
      ask(async () => {
        const path = `/config/${encodeURIComponent(subject)}?defaultToGlobal=true`;
        const { compatibilityLevel } = await call<{ compatibilityLevel?: string }>('GET', path);
        return compatibilityLevel ?? null;
      }).catch((error) => {
        // Reading the rule is a right of its own.
        if (hasCode(error, 'SCHEMA_NOT_REGISTERED', 'REGISTRY_REFUSED')) return null;
        throw error;
      }),
    subjects: () =>
      ask(async () => checked(((await Subject.all({})) as ApiResponse).data<string[]>(), Array.isArray)),
    time: () =>
      ask(async () => {
        // A small answer of any registry: a list of subjects may be larger than what is read.
        const { date = '' } = await askRegistry({ ...options, agent }, 'GET', '/schemas/types');
        const time = Date.parse(date);
        return Number.isNaN(time) ? null : time;
      }),
  };
}

const sendHeaders =
  (
    headers: () => Readonly<Record<string, string>>,
  ): NonNullable<SchemaRegistryAPIClientArgs['middlewares']>[number] =>
  () => ({
    prepareRequest: async (next) => (await next()).enhance({ headers: { ...headers() } }),
  });

/** Whether there is another token than the one that was not taken: it was withdrawn, or its key is gone. */
async function isTokenRenewed(error: unknown, { tokens }: RegistryOptions): Promise<boolean> {
  const { status, authorization } = error as RegistryFailure;
  if (!tokens || authorization === undefined || status !== 401) return false;
  const shown = authorization.slice('Bearer '.length);
  tokens.reject(shown);
  return (await tokens.get().catch(() => shown)) !== shown;
}

/** The client takes any 200 for an answer: a page of a proxy, say. */
function checked<T>(answer: T, isOne: (answer: T) => boolean): T {
  if (!isOne(answer)) throw new Error(NO_REGISTRY);
  return answer;
}

/**
 * In place of a subject or a version that is not there, or that somebody else has deleted in between: Confluent's codes 40401
 * to 40406. Apicurio answers 409 to a second soft-delete.
 */
const orIfGone =
  <T>(instead: T) =>
  (error: RegistryFailure): T => {
    const { status, message = '' } = error;
    if (status === 404 || /"error_code":\s*4040\d/.test(message)) return instead;
    throw error;
  };

/** The wire format has four bytes for it. */
const isId = (id: number): boolean => Number.isInteger(id) && id > 0 && id < 2 ** 31;

const isSchema = (answer: FoundSchema | null): boolean =>
  typeof answer?.schema === 'string' && (answer.references === undefined || Array.isArray(answer.references));
