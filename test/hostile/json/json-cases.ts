/** Bodies with a valid signature whose content is meant to hurt whoever reads it. */
export type JsonCase = {
  readonly name: string;
  readonly body: Buffer;
  /** The topic that holds it in the end. */
  readonly topic: 'payment-status' | 'unclassified' | 'dead-letter';
};

const MB = 1_000_000;

/** A payment status with these members in its payload. */
const event = (name: string, payload: string): JsonCase => ({
  name,
  body: Buffer.from(`{"type":"payment-status","entityId":"hostile","payload":{${payload}}}`),
  topic: 'payment-status',
});
const unread = (name: string, body: string | Buffer): JsonCase => ({
  name,
  body: Buffer.from(body as string),
  topic: 'dead-letter',
});

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const withBytes = (...bytes: number[]) =>
  Buffer.concat([Buffer.from('{"type":"payment-status","x":"'), Buffer.from(bytes), Buffer.from('"}')]);

export const JSON_CASES: readonly JsonCase[] = [
  event('10,000 arrays in one another', `"x":${deep(10_000)}`),
  event('400,000 arrays in one another', `"x":${deep(400_000)}`),
  event('a number of 100,000 digits', `"status":${'9'.repeat(100_000)}`),
  event('1e400 and -0', `"status":1e400,"x":-0`),
  event('duplicate keys', `"status":"A","status":"B"`),
  event('200,000 duplicate keys', Array(200_000).fill('"a":1').join(',')),
  event('200,000 different keys', Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`).join(',')),
  event('lone surrogates', `"status":"\\ud800","x":"\\udc00\\ud800"`),
  event('escaped zero bytes', `"status":"a\\u0000b"`),
  event('a key of 2 MB', `"${'k'.repeat(2 * MB)}":1`),
  event('a string of 2 MB of escapes', `"status":"${'\\u0041'.repeat(MB / 3)}"`),
  event('__proto__ and constructor', `"__proto__":{"status":"X"},"constructor":{"prototype":{"status":"X"}}`),
  event(
    '100,000 empty objects',
    `"pacs002":{"FIToFIPmtStsRpt":{"TxInfAndSts":[${Array(100_000).fill('{}')}]}}`,
  ),
  event('another type for each field', `"status":{},"pacs002":[{"FIToFIPmtStsRpt":1}]`),
  {
    name: 'a type that no schema claims',
    body: Buffer.from(`{"type":"${'t'.repeat(1_000)}","entityId":"hostile"}`),
    topic: 'unclassified',
  },
  { name: 'a type of __proto__', body: Buffer.from('{"type":"__proto__"}'), topic: 'unclassified' },
  { name: 'a type that is an object', body: Buffer.from('{"type":{}}'), topic: 'unclassified' },
  unread('invalid UTF-8', withBytes(0xc3, 0x28)),
  unread('overlong UTF-8', withBytes(0xc0, 0xaf)),
  unread('a surrogate in UTF-8', withBytes(0xed, 0xa0, 0x80)),
  unread('a bare zero byte', withBytes(0)),
  unread('a byte order mark', '\ufeff{"type":"payment-status"}'),
  unread('an object without end', '{"a":'.repeat(100_000)),
  unread('two objects', '{"type":"payment-status"}{}'),
  unread('NaN', '{"type":"payment-status","x":NaN}'),
  unread('an array', deep(100)),
];
