import { execFile } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve } from '../serve.ts';
import { ROOT } from '../source-tree.ts';

const ADVISORY = {
  id: 1,
  url: 'https://github.com/advisories/x',
  title: 'Bodies overflow',
  severity: 'high',
};

/** npm itself, and a registry that answers its audit so. */
async function checkAgainst(answer: RequestListener): Promise<{ code: unknown; out: string }> {
  await using registry = await serve(answer);
  const args = [join(ROOT, 'test/support/supply/main.ts'), `--registry=${registry.url}`, '--fetch-retries=0'];
  return await new Promise((resolve) =>
    execFile(process.execPath, args, { cwd: ROOT }, (error, out) => resolve({ code: error?.code ?? 0, out })),
  );
}

/** A registry that knows of these holes. npm asks it for the package too, to see which versions are concerned. */
const answering =
  (advisories: object): RequestListener =>
  (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    const isAudit = request.url?.endsWith('/advisories/bulk');
    response.end(JSON.stringify(isAudit ? advisories : { name: 'fastify', versions: {}, 'dist-tags': {} }));
  };

describe('make check-supply', () => {
  it('ends with 0 where the registry knows of no hole', async () => {
    const { code, out } = await checkAgainst(answering({}));
    expect(out).toBe('No known holes in what is shipped.\n');
    expect(code).toBe(0);
  });

  it('names each hole, and ends with 1', async () => {
    const { code, out } = await checkAgainst(
      answering({ fastify: [{ ...ADVISORY, vulnerable_versions: '*' }] }),
    );
    expect(out).toContain('high: fastify');
    expect(out).toContain('Bodies overflow https://github.com/advisories/x');
    expect(code).toBe(1);
  });

  it('says so where the registry does not audit, and ends with 2: it is not the same as no hole', async () => {
    const { code, out } = await checkAgainst((request, response) => {
      request.resume();
      response.writeHead(405).end();
    });
    expect(out).toContain('The audit could not run: 405 Method Not Allowed');
    expect(out).toContain('make check-supply ARGS=--registry=');
    expect(out).not.toContain('No known holes');
    expect(code).toBe(2);
  });

  it('says so where nobody answers', async () => {
    const { code, out } = await checkAgainst((request) => void request.destroy());
    expect(out).toContain('The audit could not run');
    expect(code).toBe(2);
  });
});
