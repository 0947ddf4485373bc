import { SUBSCRIPTION } from '../../bench/load/bodies.ts';
import { signatureOf } from '../../support/sign.ts';

/** In paths and headers; no answer may hold it. */
export const MARK = 'm4rk-0f-the-sender';

export type RawCase = {
  readonly name: string;
  readonly request: string;
  /** Of every answer, in their order: status and error code, or `stored`. */
  readonly answers: readonly string[];
  /** Whether the server ends the connection by itself after them. */
  readonly closed: boolean;
};

const BODY = `{"type":"payment-status","entityId":"raw-case"}`;
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const SIZE = BODY.length.toString(16);
const CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;
const SIGNATURE = `X-Signature-SHA256: ${signatureOf(SUBSCRIPTION, BODY)}`;
const LINE = `POST /webhooks/${SUBSCRIPTION.ref} HTTP/1.1`;

const head = (line: string, headers: readonly string[]) => `${[line, ...headers].join('\r\n')}\r\n\r\n`;
/** A webhook that would be stored, but for what `headers` and `content` add to it. */
const webhook = (headers: readonly string[], content = BODY, line = LINE) =>
  head(line, ['Host: h', 'Content-Type: application/json', SIGNATURE, ...headers]) + content;
/** Behind another request: answered only where the server read the first one otherwise than the contract says. */
const HIDDEN = webhook([LENGTH], BODY);

const malformed = (name: string, request: string): RawCase => ({
  name,
  request: request + HIDDEN,
  answers: ['400 REQUEST_MALFORMED'],
  closed: true,
});
const dismissed = (name: string, request: string, answer: string): RawCase => ({
  name,
  request,
  answers: [answer],
  closed: true,
});
/** Refused, and the next request on the connection is answered. */
const refused = (name: string, request: string, answer: string): RawCase => ({
  name,
  request: request + HIDDEN,
  answers: [answer, 'stored'],
  closed: false,
});

const SMUGGLING: readonly RawCase[] = [
  malformed('Content-Length and Transfer-Encoding', webhook([LENGTH, CHUNKED], CHUNKS)),
  malformed('Transfer-Encoding and Content-Length', webhook([CHUNKED, LENGTH], CHUNKS)),
  malformed('two Content-Lengths', webhook([LENGTH, 'Content-Length: 3'])),
  malformed('two equal Content-Lengths', webhook([LENGTH, LENGTH])),
  malformed('a list of Content-Lengths', webhook([`${LENGTH}, ${BODY.length}`])),
  malformed('a signed Content-Length', webhook([`Content-Length: +${BODY.length}`])),
  malformed('a negative Content-Length', webhook(['Content-Length: -1'])),
  malformed('a Content-Length beyond 64 bits', webhook([`Content-Length: ${'9'.repeat(30)}`])),
  malformed('chunked twice', webhook(['Transfer-Encoding: chunked, chunked'], CHUNKS)),
  malformed('gzip, chunked', webhook(['Transfer-Encoding: gzip, chunked'], CHUNKS)),
  malformed('an unknown transfer coding', webhook(['Transfer-Encoding: xchunked'], CHUNKS)),
  malformed('obs-fold in a header', webhook([LENGTH, 'X-Folded: a\r\n b'])),
  malformed('obs-fold in Transfer-Encoding', webhook(['Transfer-Encoding:\r\n chunked'], CHUNKS)),
  malformed('a space before the colon', webhook([`Content-Length : ${BODY.length}`])),
  malformed('a bare LF in the head', webhook([`X-Bare: a\n${LENGTH}`])),
  malformed('a bare CR in a header', webhook([LENGTH, 'X-Bare: a\rb'])),
  malformed('a bare LF behind a chunk size', webhook([CHUNKED], `${SIZE}\n${BODY}\r\n0\r\n\r\n`)),
  malformed('a chunk longer than its size', webhook([CHUNKED], `1\r\n${BODY}\r\n0\r\n\r\n`)),
  malformed('a chunk size that is none', webhook([CHUNKED], `xyz\r\n${BODY}\r\n0\r\n\r\n`)),
  malformed('a chunk size beyond 64 bits', webhook([CHUNKED], `${'f'.repeat(17)}\r\n${BODY}`)),
  malformed(
    'chunk extensions over 16 KiB',
    webhook([CHUNKED], `${SIZE};${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`),
  ),
];

const HEADERS: readonly RawCase[] = [
  dismissed('101 headers', webhook([LENGTH, ...many(101)]), '431 HEADERS_TOO_LARGE'),
  dismissed('4,000 headers', webhook([LENGTH, ...many(4_000)]), '431 HEADERS_TOO_LARGE'),
  dismissed('a header of 1 MB', webhook([LENGTH, `X: ${MARK.repeat(60_000)}`]), '431 HEADERS_TOO_LARGE'),
  malformed('a zero byte in a header', webhook([LENGTH, `X: ${MARK}\0`])),
  malformed('a header without a name', webhook([LENGTH, `: ${MARK}`])),
  malformed('a header without a colon', webhook([LENGTH, MARK])),
  malformed('no Host', webhook([LENGTH]).replace('Host: h\r\n', '')),
  malformed('two Hosts', webhook(['Host: i', LENGTH])),
  refused('the signature twice', webhook([SIGNATURE, LENGTH]), '401 UNAUTHENTIC'),
  refused('no signature', webhook([LENGTH]).replace(`${SIGNATURE}\r\n`, ''), '401 UNAUTHENTIC'),
  refused('a Content-Encoding', webhook([LENGTH, 'Content-Encoding: gzip']), '415 MEDIA_TYPE_UNSUPPORTED'),
];

function many(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `X-${n}: 1`);
}

const PATHS: readonly RawCase[] = [
  dismissed('%zz', webhook([LENGTH], BODY, `POST /webhooks/%zz${MARK} HTTP/1.1`), '400 REQUEST_MALFORMED'),
  dismissed('an unknown path', webhook([LENGTH], BODY, `POST /${MARK} HTTP/1.1`), '404 NOT_FOUND'),
  dismissed(
    'a path below a ref',
    webhook([LENGTH], BODY, `POST /webhooks/a/${MARK} HTTP/1.1`),
    '404 NOT_FOUND',
  ),
  dismissed(
    'a path over 16 KiB',
    webhook([LENGTH], BODY, `POST /${MARK.repeat(2_000)} HTTP/1.1`),
    '431 HEADERS_TOO_LARGE',
  ),
  refused(
    'a ref of over 100 characters',
    webhook([LENGTH], BODY, `POST /webhooks/${MARK.repeat(10)} HTTP/1.1`),
    '401 UNAUTHENTIC',
  ),
  refused(
    'a ref of escaped slashes',
    webhook([LENGTH], BODY, `POST /webhooks/..%2f..%2f${MARK} HTTP/1.1`),
    '401 UNAUTHENTIC',
  ),
];

const METHODS: readonly RawCase[] = [
  ...['GET', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'].map((method) =>
    dismissed(method, head(`${method} /webhooks/${MARK} HTTP/1.1`, ['Host: h']), '404 NOT_FOUND'),
  ),
  malformed('a method that nobody knows', head(`${MARK} / HTTP/1.1`, ['Host: h'])),
  malformed('HTTP/0.9', webhook([LENGTH], BODY, LINE.replace('1.1', '0.9'))),
  malformed('HTTP/2 in the request line', webhook([LENGTH], BODY, LINE.replace('1.1', '2.0'))),
  malformed('what is no HTTP', `${MARK}\r\n\r\n`),
  dismissed(
    'an upgrade',
    head(`GET /${MARK} HTTP/1.1`, ['Host: h', 'Connection: Upgrade', 'Upgrade: websocket']),
    '404 NOT_FOUND',
  ),
  dismissed('HTTP/1.0', webhook([LENGTH], BODY, LINE.replace('1.1', '1.0')), 'stored'),
  { name: 'a pipeline', request: HIDDEN.repeat(5), answers: Array(5).fill('stored'), closed: false },
  {
    name: 'a pipeline with a refused one inside',
    request: HIDDEN + webhook([LENGTH], BODY.replace('raw', 'row')) + HIDDEN,
    answers: ['stored', '401 UNAUTHENTIC', 'stored'],
    closed: false,
  },
];

export const RAW_CASES: readonly RawCase[] = [...SMUGGLING, ...HEADERS, ...PATHS, ...METHODS];

const POUR_CHUNK = `100000\r\n${'x'.repeat(1_048_576)}\r\n`;

/** Requests that are no webhooks, with a body without end behind them. */
export const POURED: readonly { readonly name: string; readonly first: string; readonly piece: string }[] = [
  { name: '%zz', line: 'POST /webhooks/%zz HTTP/1.1', headers: [CHUNKED] },
  { name: 'unknown path', line: 'POST /nowhere HTTP/1.1', headers: [CHUNKED] },
  { name: 'unknown path, length', line: 'POST /nowhere HTTP/1.1', headers: ['Content-Length: 67108864'] },
  { name: 'GET with a body', line: 'GET / HTTP/1.1', headers: [CHUNKED] },
  { name: 'no Host', line: 'POST /nowhere HTTP/1.1', headers: [CHUNKED], host: false },
].map(({ name, line, headers, host = true }) => ({
  name,
  first: head(line, [...(host ? ['Host: h'] : []), ...headers]),
  piece: POUR_CHUNK,
}));
