import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { clientLog, type Logger } from '../../src/runtime/logger.ts';
import { capturedLog } from '../support/captured-log.ts';

/** What a line says of these fields, as it was written. */
function logged(fields: object, msg?: string) {
  const { logger, lines } = capturedLog();
  logger.info(fields, msg);
  return lines()[0] ?? expect.fail('nothing was written');
}

describe('a log line', () => {
  it('is JSON with time, level in words, name and message', () => {
    expect(logged({ topic: 'payments.commands', ms: 12 }, 'command finished')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      name: 'test',
      topic: 'payments.commands',
      ms: 12,
      msg: 'command finished',
    });
  });

  it('is left out below the level', () => {
    const { logger, lines } = capturedLog('info');
    clientLog(logger)('connecting', { namespace: 'Connection' });
    expect(lines()).toEqual([]);
    const debug = capturedLog('debug');
    clientLog(debug.logger)('connecting', { namespace: 'Connection' });
    expect(debug.lines()).toMatchObject([{ level: 'debug', msg: 'connecting', namespace: 'Connection' }]);
  });

  it('has no children, whose fields would not be looked at', () => {
    // @ts-expect-error: the type is what keeps them away
    const child: unknown = ({} as Logger).child;
    expect(child).toBeUndefined();
  });
});

describe('redaction', () => {
  const SECRET = 'hunter2-hunter2';

  it.each([
    'authorization',
    'Proxy-Authorization',
    'set-cookie',
    'password',
    'signingSecret',
    'signing-secret',
    'client_secret',
    'encryption-key',
    'sealedKeys',
    'SEALING_KEY',
    'privateKey',
    'access_token',
    'token',
    'client_assertion',
    'jwt',
    'body',
    'responseBody',
    'payload',
    'value',
    'source',
  ])('cuts %s at the top, nested, in arrays and far below', (name) => {
    const secret = { [name]: SECRET };
    const deep = { a: { b: [{ c: { d: [secret] } }] } };
    const { logger, text } = capturedLog();
    logger.error({ ...secret, request: { headers: secret }, list: [[secret], secret], deep }, 'refused');
    expect(text()).not.toContain(SECRET);
    expect(text().match(/\[redacted\]/g)).toHaveLength(5);
  });

  it('cuts a secret under any such name, whatever stands around it', () => {
    const name = fc.constantFrom('password', 'signing_secret', 'Authorization', 'accessToken');
    const wrap = fc.array(fc.constantFrom('object', 'array'), { maxLength: 6 });
    fc.assert(
      fc.property(
        name,
        wrap,
        fc.oneof(fc.constant(SECRET), fc.constant({ raw: SECRET })),
        (name, wraps, value) => {
          const fields = wraps.reduce<object>((inner, kind) => (kind === 'array' ? [inner] : { inner }), {
            [name]: value,
          });
          return !JSON.stringify(logged({ fields })).includes(SECRET);
        },
      ),
    );
  });

  it('leaves what only sounds like a secret, and what is not there', () => {
    const fields = {
      secretsDir: '/secrets',
      tokenType: 'bearer',
      key: 'e-1',
      errorCode: 'UNAUTHENTIC',
      token: null,
      at: new Date(0),
      offset: 12n,
      missing: ['accounts.read', 'accounts.close'],
    };
    expect(logged(fields)).toMatchObject({ ...fields, at: '1970-01-01T00:00:00.000Z', offset: '12' });
  });

  it('cuts a raw list of headers by the names beside the values', () => {
    const line = logged({ rawHeaders: ['Host', 'x', 'Authorization', `Bearer ${SECRET}`] });
    expect(line.rawHeaders).toEqual({ Host: 'x', Authorization: '[redacted]' });
  });

  it('takes of an error its name, code, message, stack and causes, and nothing that hangs on it', () => {
    const cause = Object.assign(new TypeError('fetch failed'), {
      code: 'ECONNRESET',
      request: { headers: { 'x-key': SECRET } },
    });
    const err = new HooklineError('TOKEN_UNAVAILABLE', 'POST /oauth/token', { cause });
    const line = logged({ err: Object.assign(err, { config: SECRET, code: err.code }) }, 'refused');
    expect(line.err).toEqual({
      type: 'HooklineError',
      code: 'TOKEN_UNAVAILABLE',
      message: 'the authentication API does not answer (POST /oauth/token)',
      stack: expect.stringContaining('logger.test.ts'),
      cause: { type: 'TypeError', code: 'ECONNRESET', message: 'fetch failed' },
    });
  });

  it('takes no more of an error under another name, in a list, or logged alone', () => {
    const error = Object.assign(new Error('failed'), { config: SECRET, code: { inner: SECRET } });
    const { logger, text, lines } = capturedLog();
    logger.warn({ error, nested: { all: [error] } }, 'first');
    logger.warn(error);
    expect(text()).not.toContain(SECRET);
    expect(lines()).toMatchObject([
      { error: { message: 'failed' }, nested: { all: [{ message: 'failed' }] } },
      { err: { message: 'failed' }, msg: 'failed' },
    ]);
  });

  it('has an error for its message where a client hands one on', () => {
    const { logger, lines } = capturedLog('debug');
    clientLog(logger)(new Error('refused') as unknown as string, {});
    expect(lines()).toMatchObject([{ msg: 'Error: refused' }]);
  });

  it('names the first of several errors, and ends a circle of causes', () => {
    const err = new AggregateError([new Error('connect ECONNREFUSED ::1'), new Error('127.0.0.1')]);
    expect(logged({ err }).err).toMatchObject({ cause: { message: 'connect ECONNREFUSED ::1' } });
    const circle = new Error('around');
    circle.cause = circle;
    const causes = JSON.stringify(logged({ err: circle })).match(/"message":"around"/g);
    expect(causes).toHaveLength(5);
  });

  it.each([
    [`Authorization: Bearer ${SECRET}`, 'Authorization: Bearer [redacted]'],
    ['token eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl refused', 'token [redacted] refused'],
    [
      `http://user:${SECRET}@registry:8081/subjects failed`,
      'http://[redacted]@registry:8081/subjects failed',
    ],
    ['no broker at kafka-1:9092', 'no broker at kafka-1:9092'],
  ])('cuts what looks like a secret out of a text, wherever it stands: %s', (text, redacted) => {
    expect(logged({ text }).text).toBe(redacted);
    expect(logged({}, text).msg).toBe(redacted);
    const { err } = logged({ err: new Error('outside', { cause: new Error(text) }) }) as {
      err?: { cause?: { message?: string } };
    };
    expect(err?.cause?.message).toBe(redacted);
    expect(JSON.stringify(logged({ err: new Error(text) }))).not.toContain(SECRET);
  });

  it('takes no time that grows with the square of what the other side answered', { timeout: 20_000 }, () => {
    // Each `eyJ` may begin a JWT: looked for from each, it takes almost a minute.
    const { err } = logged({ err: new Error('eyJ-'.repeat(40 * 1024)) });
    expect(err).toMatchObject({ message: expect.stringMatching(/^eyJ-eyJ-/) });
  });

  it('cuts a JWT with other text before it, and every part of a list of them', () => {
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl';
    expect(logged({ text: `id-${jwt},${jwt} 1.eyJ ${jwt}` }).text).toBe(
      'id-[redacted],[redacted] 1.eyJ [redacted]',
    );
  });

  it('says no more than eight thousand characters of an error, and no part of a secret where it is cut', () => {
    const cause = new Error(`${'x'.repeat(7_990)}://user:${SECRET}@${'y'.repeat(1_000_000)}`);
    const line = JSON.stringify(logged({ err: new Error('outside', { cause }), other: cause }));
    expect(line.length).toBeLessThan(40_000);
    expect(line).not.toContain('user');
  });

  it('writes a line whatever it is given: circles, bytes, depth, things that throw', () => {
    const circle: Record<string, unknown> = { name: 'x' };
    circle.self = { circle };
    expect(logged({ circle }).circle).toEqual({ name: 'x', self: { circle: '[circular]' } });
    expect(logged({ bytes: Buffer.alloc(5_000_000, 'secret') }).bytes).toBe('[5000000 bytes]');
    const deep = Array.from({ length: 50 }).reduce<object>((inner) => ({ inner }), {});
    expect(JSON.stringify(logged({ deep }))).toContain('[too deep]');
    const broken = {
      get broken(): string {
        throw new Error('not now');
      },
    };
    expect(logged(broken, 'still said')).toMatchObject({ unloggable: 'not now', msg: 'still said' });
  });
});

describe.skipIf(!existsSync('/dev/full'))('a log on a full disk', () => {
  /** The lines that are there when the disk takes some again. */
  const linesAfter = (count: number, ...characters: string[]) => {
    const dir = mkdtempSync(join(tmpdir(), 'hookline-logger-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'log');
    execFileSync(process.execPath, ['test/runtime/logger.fixture.ts', file, String(count), ...characters]);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    return lines.map((line): Record<string, unknown> => JSON.parse(line));
  };
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

  it('ends nothing, and is complete when the disk has space again', () => {
    const lines = linesAfter(3);
    expect(lines.slice(0, 3).map(({ n }) => n)).toEqual(numbers(3));
    expect(lines.slice(3)).toMatchObject([{ level: 'info', msg: 'afterwards' }]);
  });

  it('is kept up to 1 MiB, and says how many lines are lost', () => {
    const lines = linesAfter(20_000);
    const kept = lines.filter(({ n }) => n !== undefined).length;
    expect(lines.slice(0, kept).map(({ n }) => n)).toEqual(numbers(kept));
    expect(kept).toBeGreaterThan(5_000);
    // The last one as well.
    expect(lines.slice(kept)).toMatchObject([{ level: 'error', lines: 20_001 - kept }]);
  });

  it('lacks a line above 1 MiB at any time, and does not say that the disk was full', () => {
    const [afterwards, lost] = linesAfter(0, '1100000');
    expect(afterwards).toMatchObject({ msg: 'afterwards' });
    expect(lost).toMatchObject({ lines: 1, msg: expect.stringMatching(/or they were longer than 1 MiB/) });
  });
});
