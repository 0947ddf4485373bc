import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { serve } from '../serve.ts';

type StoredObject = { bytes: Buffer; sha256: string; modifiedAt: Date };

export type S3Request = {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};
/** An answer in place of the store's own: the code of an error, or a body of XML, or whatever else. */
export type S3Answer =
  | { readonly status: number; readonly code: string }
  | { readonly status: number; readonly xml: string }
  | { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body?: string }
  | undefined;

/** What S3's API answers of a bucket in memory, and on request something else: other stores cannot be made to fail at will. */
export type ScriptedS3 = AsyncDisposable & {
  readonly objects: Map<string, StoredObject>;
  readonly endpoint: string;
  readonly bucket: string;
  /** For processes and commands that use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Decides on each request before the store does. */
  answer: (request: S3Request) => S3Answer | Promise<S3Answer>;
  /** The bucket's lifecycle configuration, XML. */
  lifecycle: string | undefined;
  /** Objects that a page of a list has. */
  pageSize: number;
  /** How many are open. */
  connections(): Promise<number>;
};

const BUCKET = 'events';

export async function startScriptedS3(): Promise<ScriptedS3> {
  const server = await serve((request, response) => {
    answer(store, request, response).catch(() => response.destroy());
  });
  const store: ScriptedS3 = {
    objects: new Map(),
    endpoint: server.url,
    bucket: BUCKET,
    env: {
      AWS_ACCESS_KEY_ID: 'hookline',
      AWS_SECRET_ACCESS_KEY: 'hookline-secret',
      BODY_STORE: `s3://${BUCKET}/hookline`,
      BODY_STORE_ENDPOINT: server.url,
    },
    answer: () => undefined,
    lifecycle: undefined,
    pageSize: 1_000,
    connections: server.connections,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return store;
}

async function answer(store: ScriptedS3, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await incoming.toArray());
  const { pathname, searchParams: query } = new URL(incoming.url ?? '', 'http://s3');
  const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
  const { method = 'GET', headers } = incoming;
  const fault = (status: number, code: string) => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      method === 'HEAD' ? undefined : `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
    );
  };
  const scripted = await store.answer({ method, bucket, key, query, headers, body });
  if (scripted && 'code' in scripted) return fault(scripted.status, scripted.code);
  if (scripted && 'xml' in scripted) return void response.writeHead(scripted.status).end(scripted.xml);
  if (scripted) return void response.writeHead(scripted.status, scripted.headers).end(scripted.body);
  if (bucket !== BUCKET) return fault(404, 'NoSuchBucket');
  if (query.has('lifecycle'))
    return store.lifecycle ? void response.end(store.lifecycle) : fault(404, 'NoSuchLifecycleConfiguration');
  if (query.has('list-type')) return void response.end(listing(store, query));
  if (method === 'PUT') {
    if (headers['if-none-match'] === '*' && store.objects.has(key)) return fault(412, 'PreconditionFailed');
    const sha256 = String(headers['x-amz-meta-sha256']);
    store.objects.set(key, { bytes: body, sha256, modifiedAt: new Date() });
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const checksum = { 'x-amz-checksum-sha256': createHash('sha256').update(body).digest('base64') };
    return void response.writeHead(200, { etag, ...checksum }).end();
  }
  const found = store.objects.get(key);
  if (method === 'DELETE') {
    store.objects.delete(key);
    return void response.writeHead(204).end();
  }
  if (!found) return fault(404, 'NoSuchKey');
  response.writeHead(200, { 'content-length': found.bytes.length, 'x-amz-meta-sha256': found.sha256 });
  response.end(method === 'HEAD' ? undefined : found.bytes);
}

function listing({ objects, pageSize }: ScriptedS3, query: URLSearchParams): string {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, pageSize);
  const contents = page.map((key) => {
    const { bytes, modifiedAt } = objects.get(key) as StoredObject;
    return `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified></Contents>`;
  });
  const next =
    keys.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`;
}
