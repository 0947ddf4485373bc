import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sign, startIngressApp } from '../support/ingress-app.ts';

const MIB = 1024 * 1024;
const SIGNATURES = { 'a wrong signature': '0'.repeat(64), 'a malformed one': 'nonsense', none: undefined };

type Probe = { ref: string; signature: string | undefined; bytes: number; expects: boolean };

/** Sends the head of a webhook and nothing more. @returns the statuses that come, until nothing more can */
async function probe(ingress: Awaited<ReturnType<typeof startIngressApp>>, how: Probe): Promise<string[]> {
  const lines = [
    `POST /webhooks/${how.ref} HTTP/1.1`,
    'Host: h',
    'Content-Type: application/json',
    `Content-Length: ${how.bytes}`,
    ...(how.signature === undefined ? [] : [`X-Signature-SHA256: ${how.signature}`]),
    ...(how.expects ? ['Expect: 100-continue'] : []),
  ];
  let text = '';
  const socket = connect(ingress.port, '127.0.0.1');
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      text += chunk;
    });
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  // A request that comes later on another connection is answered after all that a head alone is answered with.
  for (let n = 0; n < 5; n++) await fetch(ingress.url);
  socket.destroy();
  return (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => line.slice(9));
}

describe('Expect: 100-continue', () => {
  const kinds = Object.entries(SIGNATURES).flatMap(([what, signature]) =>
    [['small', 1_000] as const, ['large', 2 * MIB] as const].map(
      ([size, bytes]) => [size, what, bytes, signature] as const,
    ),
  );

  it.each(kinds)('with a %s body and %s tells no more of a ref than a plain request', async (...one) => {
    const [, , bytes, signature] = one;
    await using ingress = await startIngressApp({ maxBodyBytes: 10 * MIB });
    const ask = (ref: string, expects: boolean) => probe(ingress, { ref, signature, bytes, expects });
    const known = { plain: await ask('ledger-eu', false), expecting: await ask('ledger-eu', true) };
    const unknown = { plain: await ask('nobody', false), expecting: await ask('nobody', true) };
    const isTold = JSON.stringify(known.plain) !== JSON.stringify(unknown.plain);
    if (!isTold) expect(known.expecting).toEqual(unknown.expecting);
    // The go-ahead comes exactly where a plain request waits for its body: it is no other answer.
    for (const { plain, expecting } of [known, unknown]) {
      expect(expecting).toEqual(plain.length === 0 ? ['100'] : plain);
    }
  });

  it('small bodies of known and unknown refs get the same answers, and the same after their body', async () => {
    await using ingress = await startIngressApp();
    const body = '{"n":1}';
    const answers = await Promise.all(
      ['ledger-eu', 'nobody'].map((ref) =>
        fetchExpecting(ingress.port, `/webhooks/${ref}`, body, sign(`${body} `)),
      ),
    );
    expect(answers[0]).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401 /);
    expect(answers[1]).toBe(answers[0]);
  });
});

function fetchExpecting(port: number, path: string, body: string, signature: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      if (text === '') socket.write(body);
      text += chunk;
    });
    socket.on('close', () => resolve(text.replace(/date: [^\r]*/i, '')));
    const lines = [`POST ${path} HTTP/1.1`, 'Host: h', 'Content-Type: application/json', 'Connection: close'];
    lines.push(`Content-Length: ${body.length}`, `X-Signature-SHA256: ${signature}`, 'Expect: 100-continue');
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}
