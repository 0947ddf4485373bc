import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/open-receiver.ts';
import { openSandbox } from '../support/open-sandbox.ts';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-tls-'));
const pem = (name: string) => readFileSync(join(folder, name), 'utf8');

function makeCertificate(name: string, subject: string): void {
  const extension = 'subjectAltName=IP:127.0.0.1';
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj ${subject} -addext ${extension} -keyout ${name}.key -out ${name}.crt`.split(
      ' ',
    ),
    { cwd: folder, stdio: 'ignore' },
  );
}

beforeAll(() => {
  makeCertificate('receiver', '/CN=receiver');
  makeCertificate('client', '/CN=service');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function deliver(options: { clientAuth: boolean; ca: boolean; client: boolean }) {
  const { clientAuth, ca, client } = options;
  const tls = {
    key: pem('receiver.key'),
    cert: pem('receiver.crt'),
    ...(clientAuth ? { requestCert: true, rejectUnauthorized: true, ca: pem('client.crt') } : {}),
  };
  await using receiver = await openReceiver({ tls });
  await using sandbox = await openSandbox({
    tls: {
      ca: ca ? pem('receiver.crt') : undefined,
      cert: client ? pem('client.crt') : undefined,
      key: client ? pem('client.key') : undefined,
    },
  });
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ wait: 'final', retry: false });
  return json.executions[0];
}

describe('a receiver with TLS', () => {
  it('is trusted by its authority, and by nothing else', async () => {
    expect(await deliver({ clientAuth: false, ca: true, client: false })).toMatchObject({ status: 200 });
    const stranger = await deliver({ clientAuth: false, ca: false, client: false });
    expect(stranger).toMatchObject({ status: null, error: expect.stringContaining('SELF_SIGNED') });
  });

  it('gets the client certificate that it asks for', async () => {
    expect(await deliver({ clientAuth: true, ca: true, client: true })).toMatchObject({ status: 200 });
    expect(await deliver({ clientAuth: true, ca: true, client: false })).toMatchObject({ status: null });
  });
});
