import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A self-signed certificate for 127.0.0.1 in files of its own, made by openssl. */
export function selfSigned() {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-tls-'));
  const certFile = join(dir, 'server.pem');
  const keyFile = join(dir, 'server.key');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', '-x509', ...key, ...subject], { stdio: 'pipe' });
  return { certFile, keyFile, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) };
}
