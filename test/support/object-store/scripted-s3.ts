import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ObjectStore } from '../../../src/object-store/object-store.ts';
import { openS3 } from '../../../src/object-store/s3.ts';
import { serve } from '../serve.ts';

export type ScriptedS3 = AsyncDisposable & {
  readonly client: ObjectStore;
  /** How a process finds it. */
  readonly env: Readonly<Record<string, string>>;
  /** Each request, as `PUT key`. */
  readonly requests: string[];
  /** Answers in its place; false where it does not. */
  answer: (request: IncomingMessage, response: ServerResponse) => boolean;
};

/** An error as S3 answers it. */
export function fail(response: ServerResponse, status: number, code: string): true {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>the script says so</Message></Error>`,
  );
  return true;
}

type Asked = {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly key: string;
  readonly body: Buffer;
};

/** Objects behind S3's protocol as far as Hookline uses it for one object, whose answers are scripted. It tells no checksums. */
export async function startScriptedS3(): Promise<ScriptedS3> {
  const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
  // The SDK's chain reads the process's own environment.
  Object.assign(process.env, credentials);
  const objects = new Map<string, Buffer>();
  const answerAsS3 = ({ method, headers, key, body }: Asked, response: ServerResponse): unknown => {
    const found = objects.get(key);
    if (method === 'PUT') {
      if (found && headers['if-none-match'] === '*') return fail(response, 412, 'PreconditionFailed');
      objects.set(key, body);
      return response.writeHead(200, { etag: `"${createHash('md5').update(body).digest('hex')}"` }).end();
    }
    if (found)
      return response.writeHead(200, { 'content-length': found.length }).end(method === 'HEAD' ? '' : found);
    if (method === 'HEAD') return response.writeHead(404).end();
    return fail(response, 404, 'NoSuchKey');
  };
  const server = await serve(async (request, response) => {
    const body = await buffer(request);
    const { method, url = '' } = request;
    const key = decodeURIComponent(new URL(url, 'http://store').pathname.slice('/events/'.length));
    scripted.requests.push(`${method} ${key}`);
    if (scripted.answer(request, response)) return;
    answerAsS3({ method, headers: request.headers, key, body }, response);
  });
  const options = {
    bucket: 'events',
    endpoint: server.url,
    region: undefined,
    caFile: undefined,
    sseKmsKeyId: undefined,
  };
  const client = await openS3(options, { renewed() {}, unusable() {} });
  const scripted: ScriptedS3 = {
    ...{ client, requests: [], answer: () => false },
    env: { ...credentials, BODY_STORE: 's3://events/hookline', BODY_STORE_ENDPOINT: server.url },
    async [Symbol.asyncDispose]() {
      client.close();
      await server[Symbol.asyncDispose]();
    },
  };
  return scripted;
}
