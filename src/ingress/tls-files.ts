import { readFileSync } from 'node:fs';
import type { Server, TlsOptions } from 'node:tls';

/** The certificate files of the HTTPS server, read again when they change. */
export type TlsFiles = {
  options(): TlsOptions;
  /** From now on the server takes up changed files; connections that are open keep theirs. */
  renewOn(server: Server): void;
  stop(): Promise<void>;
};

const LOOK_EVERY_MS = 5_000;

/** @param onFault told when changed files can't be used: those read before stay in force */
export function createTlsFiles(
  paths: { certFile: string; keyFile: string; clientCaFile: string | undefined },
  onFault: (error: unknown) => void,
  lookEveryMs = LOOK_EVERY_MS,
): TlsFiles {
  const read = (): TlsOptions => ({
    cert: readFileSync(paths.certFile),
    key: readFileSync(paths.keyFile),
    ...(paths.clientCaFile === undefined
      ? {}
      : { ca: readFileSync(paths.clientCaFile), requestCert: true, rejectUnauthorized: true }),
    minVersion: 'TLSv1.2',
  });
  let timer: NodeJS.Timeout | undefined;
  return {
    options: read,
    renewOn(server) {
      let current = fingerprint(read());
      timer = setInterval(() => {
        try {
          const options = read();
          const next = fingerprint(options);
          if (next === current) return;
          server.setSecureContext(options);
          current = next;
        } catch (error) {
          onFault(error);
        }
      }, lookEveryMs);
    },
    stop: async () => clearInterval(timer),
  };
}

const fingerprint = ({ cert, key, ca }: TlsOptions) => [cert, key, ca].map(String).join('\n');
