import { type ClientRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent } from 'node:https';
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import registryApi, {
  type SchemaRegistryAPIClientArgs,
} from '@kafkajs/confluent-schema-registry/dist/api/index.js';
import type { Type } from 'avsc';
import { HooklineError } from '../core/errors.ts';
import { connectionFaultOf, explainFault, type OtherSide } from '../runtime/connection-fault.ts';
import { type FoundSchema, writerTypeOf } from './record-codec.ts';

export type RegistryOptions = {
  readonly url: string;
  readonly auth?: { readonly username: string; readonly password: string };
  /** Authorities that are trusted for https, instead of the system's. */
  readonly ca?: readonly Buffer[];
  /** From a request to the end of its answer: a registry that hangs would hang the start. */
  readonly timeoutMs: number;
};

/** What Hookline asks of a schema registry (Confluent's API). Nothing here is called per event. */
export type Registry = {
  /** The id under which exactly this schema is registered. Throws SCHEMA_NOT_REGISTERED, REGISTRY_UNAVAILABLE. */
  idOf(subject: string, schema: string): Promise<number>;
  /**
   * The type that a record was written with. Throws REGISTRY_UNAVAILABLE, REGISTRY_REFUSED, SCHEMA_NOT_REGISTERED, and
   * SCHEMA_INVALID where it is no Avro schema.
   */
  writerType(id: number): Promise<Type>;
  /** Whether the schema could be registered under FULL_TRANSITIVE; true where the subject is new. */
  isCompatible(subject: string, schema: string): Promise<boolean>;
  /** Sets the subject's compatibility to FULL_TRANSITIVE and registers the schema. Throws SCHEMA_INCOMPATIBLE. */
  register(subject: string, schema: string): Promise<number>;
  subjects(): Promise<string[]>;
};

type RegistryFailure = { readonly status?: number; readonly name?: string; readonly message?: string };
type ApiResponse = { data<T>(): T };

/** The largest schema that is read fits, escaped, and the names of tens of thousands of subjects. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export function createRegistry(options: RegistryOptions): Registry {
  const args: SchemaRegistryAPIClientArgs = {
    host: options.url,
    ...(options.auth === undefined ? {} : { auth: { ...options.auth } }),
    agent: boundedAgent(
      options.url,
      { timeoutMs: options.timeoutMs, maxBytes: MAX_ANSWER_BYTES },
      options.ca && { ca: [...options.ca] },
    ),
    retry: { retries: 0 },
  };
  const registry = new SchemaRegistry(args, { AVRO: { wrapUnions: 'never', omitRecordMethods: true } });
  const { Subject, Schema } = registryApi.default(args);
  const ask = <T>(request: () => Promise<T>) =>
    request().catch((error) => Promise.reject(classify(error, options)));
  const avro = (schema: string) => ({ type: SchemaType.AVRO as const, schema });
  return {
    idOf: (subject, schema) =>
      ask(async () => checked(await registry.getRegistryIdBySchema(subject, avro(schema)), Number.isInteger)),
    writerType: (id) =>
      ask(async () => {
        const found = ((await Schema.find({ id })) as ApiResponse).data<FoundSchema>();
        return writerTypeOf(checked(found, isSchema), async ({ subject, version }) => {
          const response: ApiResponse = await Subject.version({ subject, version });
          return checked(response.data<FoundSchema>(), isSchema);
        });
      }),
    isCompatible: (subject, schema) =>
      ask(async () => {
        const body = { schema };
        const response: ApiResponse = await Subject.compatible({ subject, version: 'latest', body });
        return response.data<{ is_compatible: boolean }>().is_compatible;
      }).catch((error) => {
        if (error instanceof HooklineError && error.code === 'SCHEMA_NOT_REGISTERED') return true;
        throw error;
      }),
    register: (subject, schema) =>
      ask(async () => {
        const compatibility = COMPATIBILITY.FULL_TRANSITIVE;
        await Subject.updateConfig({ subject, body: { compatibility } });
        return (await registry.register(avro(schema), { subject, compatibility, updateConfig: false })).id;
      }),
    subjects: () =>
      ask(async () => checked(((await Subject.all({})) as ApiResponse).data<string[]>(), Array.isArray)),
  };
}

/** The client takes any 200 for an answer: a page of a proxy, say. */
function checked<T>(answer: T, isOne: (answer: T) => boolean): T {
  if (!isOne(answer)) throw new Error('what answers is no schema registry');
  return answer;
}

const isSchema = (answer: FoundSchema | null): boolean =>
  typeof answer?.schema === 'string' && (answer.references === undefined || Array.isArray(answer.references));

const REGISTRY: OtherSide = {
  name: 'the schema registry',
  address: 'SCHEMA_REGISTRY_URL',
  ca: 'SCHEMA_REGISTRY_CA_FILE',
  useTls: 'write https in SCHEMA_REGISTRY_URL',
  useNoTls: 'write http in SCHEMA_REGISTRY_URL, or give the port that speaks TLS',
};

/** Where no answer came at all the client makes up a status 400: what isn't known here is the registry's absence. */
function classify(error: unknown, { url, auth }: RegistryOptions): HooklineError {
  if (error instanceof HooklineError) return error;
  const { status, name, message } = error as RegistryFailure;
  // A registry says in JSON what it doesn't have; a bare 404 is the page of a proxy that has lost it.
  const isBare = / - Error, status 404/.test(message ?? '');
  if ((status === 404 && !isBare) || (status === undefined && name === 'ConfluentSchemaRegistryError')) {
    return new HooklineError('SCHEMA_NOT_REGISTERED', undefined, { cause: error });
  }
  if (status === 401 || status === 403) {
    const remedy = auth
      ? 'correct SCHEMA_REGISTRY_USERNAME, or the content of the file that SCHEMA_REGISTRY_PASSWORD_FILE names'
      : 'set SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE';
    return new HooklineError('REGISTRY_REFUSED', `${url} answered ${status}`, { cause: error, remedy });
  }
  if (status === 409 || status === 422)
    return new HooklineError('SCHEMA_INCOMPATIBLE', shortened(message), { cause: error });
  const why = shortened(message?.replace(/^.* - (Error, status 400: )?/, ''));
  const fault = connectionFaultOf(error);
  if (!fault) return new HooklineError('REGISTRY_UNAVAILABLE', `${url}: ${why}`, { cause: error });
  const { finding, remedy } = explainFault(fault, REGISTRY);
  return new HooklineError('REGISTRY_UNAVAILABLE', `${url}: ${finding}`, { cause: error, remedy });
}

/** What an answer says of itself may be megabytes, and goes into the log. */
const MAX_WHY = 2_000;

const shortened = (text: string | undefined) =>
  text !== undefined && text.length > MAX_WHY ? `${text.slice(0, MAX_WHY)}…` : text;

type AnswerLimits = {
  /** From the request to the last byte of its answer. */
  readonly timeoutMs: number;
  /** A larger answer is as good as none. */
  readonly maxBytes: number;
};

/** Node hands each request to its agent by this method; the types leave it out. */
type Adding = { addRequest(request: ClientRequest, ...others: unknown[]): void };

/**
 * An agent whose requests end in time. The registry's client has a time-out for silence only: it waits without end for
 * an answer that is cut off or comes a byte a second, and keeps an endless one in memory.
 */
function boundedAgent(url: string, limits: AnswerLimits, tls: Pick<AgentOptions, 'ca'> = {}): HttpAgent {
  const options = { keepAlive: true, timeout: limits.timeoutMs };
  const agent = url.startsWith('https:') ? new HttpsAgent({ ...options, ...tls }) : new HttpAgent(options);
  const adding = agent as unknown as Adding;
  const add = adding.addRequest.bind(agent);
  adding.addRequest = (request, ...others) => {
    bound(request, limits);
    add(request, ...others);
  };
  return agent;
}

function bound(request: ClientRequest, { timeoutMs, maxBytes }: AnswerLimits): void {
  const timer = setTimeout(() => request.destroy(new Error(`Timeout (${timeoutMs}ms)`)), timeoutMs);
  request.once('close', () => clearTimeout(timer));
  request.once('response', (answer: IncomingMessage) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer | string) => {
      bytes += Buffer.byteLength(chunk);
      if (bytes > maxBytes) request.destroy(new Error(`its answer is larger than ${maxBytes} bytes`));
    });
    // Nobody else listens: without this, the client would not hear that an answer is cut off.
    answer.once('error', (error) => request.emit('error', error));
  });
}
