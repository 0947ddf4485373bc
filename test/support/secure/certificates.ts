import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** PEM files of one party, in the authority's folder. */
export type Identity = {
  readonly certFile: string;
  readonly keyFile: string;
  /** Key and certificate in one file, as Kafka's PEM keystores want it. */
  readonly bothFile: string;
};

export type Authority = {
  readonly caFile: string;
  /** @param names such as `DNS:localhost,IP:127.0.0.1`; @param days below 0 for one that has expired */
  issue(name: string, names: string, days?: number): Identity;
};

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority made by openssl, with all its files in `dir`. */
export function makeAuthority(dir: string, name: string): Authority {
  const openssl = (...args: string[]) => {
    try {
      execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new Error(
        'These tests make their certificates with openssl, which is not on the PATH: install it.',
      );
    }
  };
  const file = (end: string) => join(dir, end);
  const self = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2', '-subj', `/CN=${name}`];
  openssl('req', '-x509', ...NEW_KEY, ...self);
  return {
    caFile: file(`${name}.pem`),
    issue(party, names, days = 2) {
      const request = ['-keyout', `${party}.key`, '-out', `${party}.csr`, '-subj', `/CN=${party}`];
      openssl('req', ...NEW_KEY, ...request, '-addext', `subjectAltName=${names}`);
      const by = ['-CA', `${name}.pem`, '-CAkey', `${name}.key`, '-CAcreateserial'];
      const signing = ['-in', `${party}.csr`, '-days', String(days), '-copy_extensions', 'copy'];
      openssl('x509', '-req', ...signing, ...by, '-out', `${party}.pem`);
      const certFile = file(`${party}.pem`);
      const keyFile = file(`${party}.key`);
      const bothFile = file(`${party}.both.pem`);
      writeFileSync(bothFile, readFileSync(keyFile, 'utf8') + readFileSync(certFile, 'utf8'), {
        mode: 0o600,
      });
      return { certFile, keyFile, bothFile };
    },
  };
}
