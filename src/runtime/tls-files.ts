import { createSecureContext, type SecureContext } from 'node:tls';
import {
  certificatesIn,
  credentialsFault,
  type NamedFile,
  type RenewalObserver,
  type Validity,
} from '../config/renewed-files.ts';
import { validityOf } from '../crypto/keys.ts';

/** The files of one connection: the other side's authority, and a client certificate with its key. Certificate and key go together. */
export type TlsFiles = {
  readonly ca?: NamedFile | undefined;
  readonly cert?: NamedFile | undefined;
  readonly key?: NamedFile | undefined;
};

export type TlsMaterial = {
  readonly context: SecureContext;
  /** How long our client certificate is valid; undefined without one. */
  readonly validity: Validity | undefined;
};

/** A variable and the path that it holds; undefined where it is unset. */
export const named = (variable: string, path: string | undefined): NamedFile | undefined =>
  path === undefined ? undefined : { variable, path };

/** Those that are set, in the order in which {@link tlsMaterial} takes their contents. */
export const namedFiles = ({ ca, cert, key }: TlsFiles): NamedFile[] =>
  [ca, cert, key].filter((file) => file !== undefined);

/**
 * @param contents of {@link namedFiles}
 * @throws HooklineError CREDENTIALS_INVALID
 */
export function tlsMaterial(tls: TlsFiles, contents: readonly Buffer[]): TlsMaterial {
  const files = namedFiles(tls);
  const contentOf = (file: NamedFile | undefined) => file && contents[files.indexOf(file)];
  const certificates = (file: NamedFile | undefined) => {
    const content = contentOf(file);
    return file && content && certificatesIn(content, file);
  };
  const ca = certificates(tls.ca);
  const cert = certificates(tls.cert);
  const key = contentOf(tls.key);
  try {
    return {
      context: createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }),
      validity: cert && validityOf(cert),
    };
  } catch (error) {
    throw credentialsFault(
      {
        variable: `${tls.cert?.variable} and ${tls.key?.variable}`,
        path: `${tls.cert?.path}, ${tls.key?.path}`,
      },
      `they don't make a client certificate: ${(error as NodeJS.ErrnoException).code ?? 'not PEM'}`,
      'give a certificate in PEM form and its own key, unencrypted',
    );
  }
}

/** Tells for how long the client certificate among the files is valid, if there is one. */
export function presentIn(
  observer: RenewalObserver,
  { cert }: TlsFiles,
  current: () => { readonly validity?: Validity | undefined },
): void {
  if (cert) observer.presents?.(cert.variable, () => current().validity as Validity);
}
