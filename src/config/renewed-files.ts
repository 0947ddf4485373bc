import { createSecureContext } from 'node:tls';
import { HooklineError } from '../core/errors.ts';

/** A file that a variable names. */
export type NamedFile = { readonly variable: string; readonly path: string };

/** From when to when a certificate is valid. */
export type Validity = { readonly notBefore: Date; readonly notAfter: Date };

/** What happens to files that are read again while a process runs. */
export type RenewalObserver = {
  /** Changed files were loaded: the next connection uses them. */
  renewed(files: readonly NamedFile[]): void;
  /** Changed files cannot be used: what was read of them before stays in use. */
  unusable(error: Error): void;
  /** We present a certificate: `validity` is that of the one in use, whenever it is asked for. */
  presents?(variable: string, validity: () => Validity): void;
};

/** For who ends before a renewed file would be worth a line, or beside one that logs the same. */
export const UNOBSERVED_FILES: RenewalObserver = { renewed() {}, unusable() {} };

/**
 * Something made of files, such as a TLS context: checked with each call, and made again when a content has changed.
 * The first reading throws where a file can't be used; afterwards what was made last stays until the files fit again,
 * because certificate and key are seldom replaced in one instant.
 * @param read gives a file's content, or throws
 * @param make throws {@link credentialsFault}
 * @param parts.steady a change counts where two calls in a row have read it: what is cut off may still be valid
 */
export function renewedFrom<T>(parts: {
  readonly files: readonly NamedFile[];
  readonly read: (path: string) => Buffer;
  readonly make: (contents: readonly Buffer[]) => T;
  readonly observer: RenewalObserver;
  readonly steady?: boolean;
}): () => T {
  const { files, make, observer, steady = false } = parts;
  const readAll = () => files.map((file) => readOne(file, parts.read));
  let contents = readAll();
  let made = make(contents);
  let lastRead = contents;
  let reported = '';
  return () => {
    try {
      const now = readAll();
      const isSteady = !steady || isSame(now, lastRead);
      lastRead = now;
      if (!isSteady || isSame(now, contents)) return made;
      made = make(now);
      contents = now;
      reported = '';
      observer.renewed(files);
    } catch (error) {
      const { message } = error as Error;
      // Once for each fault: this is asked for every connection.
      if (message !== reported) observer.unusable(error as Error);
      reported = message;
    }
    return made;
  };
}

const isSame = (some: readonly Buffer[], others: readonly Buffer[]) =>
  some.every((content, n) => content.equals(others[n] ?? Buffer.alloc(0)));

function readOne(file: NamedFile, read: (path: string) => Buffer): Buffer {
  try {
    return read(file.path);
  } catch (error) {
    throw credentialsFault(
      file,
      `can't be read (${(error as NodeJS.ErrnoException).code})`,
      'mount it there',
    );
  }
}

/** A file with a certificate, key or password doesn't hold what it should. Says never what it does hold. */
export function credentialsFault(
  { variable, path }: NamedFile,
  finding: string,
  remedy: string,
): HooklineError {
  return new HooklineError('CREDENTIALS_INVALID', `${variable}, ${path}: ${finding}`, { remedy });
}

/** A password file's one line. */
export function passwordIn(content: Buffer, file: NamedFile): string {
  const password = content.toString('utf8').trim();
  if (password === '') throw credentialsFault(file, 'is empty', 'write the password into it');
  return password;
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * PEM certificates, all of them whole. OpenSSL takes a file without any for an empty list, and passes over one that is
 * cut off, as in a file that is being written: certificates are untrusted then.
 */
export function certificatesIn(content: Buffer, file: NamedFile): Buffer {
  const text = content.toString('latin1');
  const whole = text.match(CERTIFICATE) ?? [];
  const begun = text.split(BEGIN).length - 1;
  if (begun === 0) throw credentialsFault(file, 'holds no certificate', 'give certificates in PEM form');
  if (begun > whole.length || !whole.every(isCertificate))
    throw credentialsFault(file, 'holds a damaged certificate', 'give certificates in PEM form');
  return content;
}

function isCertificate(pem: string): boolean {
  try {
    createSecureContext({ cert: pem });
    return true;
  } catch {
    return false;
  }
}
