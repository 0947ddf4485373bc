import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Validity } from '../../src/config/renewed-files.ts';
import { createTlsFiles } from '../../src/ingress/http-server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { sign, startIngressApp } from '../support/ingress-app.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-tls-'));
const file = (name: string) => join(dir, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
const body = '{"type":"payment-status"}';

function makeAuthority(name: string) {
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
  );
}

function makeCertificate(name: string, authority: string) {
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    `/CN=${name}`,
    '-addext',
    'subjectAltName=IP:127.0.0.1',
  );
  openssl(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-CAcreateserial',
    '-days',
    '2',
    '-copy_extensions',
    'copy',
    '-out',
    `${name}.pem`,
  );
}

makeAuthority('authority');
makeAuthority('stranger');
for (const name of ['server', 'renewed', 'client']) makeCertificate(name, 'authority');
makeCertificate('intruder', 'stranger');
afterAll(() => rmSync(dir, { recursive: true }));

/** Posts a signed webhook; gives the status and whose certificate the server showed, or the error's code. */
function postBy(port: number, client?: string): Promise<[number | string, string]> {
  const identity =
    client === undefined
      ? {}
      : { cert: readFileSync(file(`${client}.pem`)), key: readFileSync(file(`${client}.key`)) };
  return new Promise((resolve) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/webhooks/ledger-eu',
        method: 'POST',
        agent: false,
        ca: readFileSync(file('authority.pem')),
        ...identity,
        headers: { 'content-type': 'application/json', 'x-signature-sha256': sign(body) },
      },
      (response) => {
        const { subject } = (response.socket as import('node:tls').TLSSocket).getPeerCertificate();
        resolve([response.statusCode ?? 0, String(subject.CN)]);
        response.resume();
      },
    );
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve([error.code ?? 'error', '']));
    outgoing.end(body);
  });
}

function startWith(clientCaFile?: string) {
  const faults: unknown[] = [];
  const paths = { certFile: file('current.pem'), keyFile: file('current.key'), clientCaFile };
  for (const end of ['pem', 'key']) copyFileSync(file(`server.${end}`), file(`current.${end}`));
  const presented = new Map<string, () => Validity>();
  const observer = {
    renewed() {},
    unusable: (error: Error) => faults.push(error),
    presents: (variable: string, validity: () => Validity) => presented.set(variable, validity),
  };
  const tls = createTlsFiles(paths, observer, systemClock, 50);
  return { tls, faults, validity: presented.get('TLS_CERT_FILE') as () => Validity };
}

describe('the webhooks server over TLS', () => {
  it('answers over HTTPS', async () => {
    const { tls, validity } = startWith();
    await using ingress = await startIngressApp({ tls });
    expect(await postBy(ingress.port)).toEqual([200, 'server']);
    expect(Number(validity().notAfter) - Number(validity().notBefore)).toBe(2 * 86_400_000);
    await tls.stop();
  });

  it('with a client authority takes its clients and nobody else (mTLS)', async () => {
    const { tls } = startWith(file('authority.pem'));
    await using ingress = await startIngressApp({ tls });
    expect(await postBy(ingress.port, 'client')).toEqual([200, 'server']);
    expect((await postBy(ingress.port))[0]).toEqual(expect.any(String));
    expect((await postBy(ingress.port, 'intruder'))[0]).toEqual(expect.any(String));
    expect(ingress.seen.records).toHaveLength(1);
    await tls.stop();
  });

  it('keeps the client authority while its file is empty, half written or of something else, and starts with none of these', async () => {
    const authority = readFileSync(file('authority.pem'));
    writeFileSync(file('clients.pem'), authority);
    const { tls, faults } = startWith(file('clients.pem'));
    await using ingress = await startIngressApp({ tls });
    for (const wrong of ['', authority.subarray(0, authority.length / 2), 'no certificate']) {
      const before = faults.length;
      writeFileSync(file('clients.pem'), wrong);
      await expect.poll(() => faults.length).toBeGreaterThan(before);
      expect(await postBy(ingress.port, 'client')).toEqual([200, 'server']);
      expect(() => startWith(file('clients.pem'))).toThrow(/TLS_CLIENT_CA_FILE, .* certificate/);
      writeFileSync(file('clients.pem'), authority);
      expect(await postBy(ingress.port, 'client')).toEqual([200, 'server']);
    }
    await tls.stop();
  });

  it('takes up a renewed certificate without a restart, and keeps the old one while the files do not fit', async () => {
    const { tls, faults } = startWith(file('authority.pem'));
    await using ingress = await startIngressApp({ tls });
    copyFileSync(file('renewed.pem'), file('current.pem'));
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    expect(await postBy(ingress.port, 'client')).toEqual([200, 'server']);
    copyFileSync(file('renewed.key'), file('current.key'));
    await expect.poll(() => postBy(ingress.port, 'client'), { timeout: 5_000 }).toEqual([200, 'renewed']);
    await tls.stop();
  });
});
