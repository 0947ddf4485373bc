import { describe, expect, it } from 'vitest';
import { createHttp } from '../../src/provider/http.ts';
import { serve } from '../support/serve.ts';

const get = (url: string) => ({ method: 'GET', url, headers: {}, timeoutMs: 10_000 }) as const;

describe('the HTTP client', () => {
  it('gives status, Retry-After and body of any answer', async () => {
    await using server = await serve((_, response) =>
      response.writeHead(503, { 'retry-after': '9' }).end('away'),
    );
    const http = createHttp({ caFile: undefined });
    expect(await http.send(get(server.url))).toEqual({ status: 503, retryAfter: '9', body: 'away' });
    await http.stop();
  });

  it('rejects an answer that is larger than anyone should hold', async () => {
    await using server = await serve((_, response) => response.end(Buffer.alloc(9 * 1024 * 1024, 0x20)));
    const http = createHttp({ caFile: undefined });
    await expect(http.send(get(server.url))).rejects.toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
    await http.stop();
  });

  it('cuts what is under way when it is stopped', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    await using server = await serve(() => resolve());
    const http = createHttp({ caFile: undefined });
    const answer = expect(http.send(get(server.url))).rejects.toThrow();
    await arrived;
    await http.stop();
    await answer;
  });
});
