import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { NamedFile } from '../config/renewed-files.ts';
import type { BodyStoreSettings } from './settings.ts';

export type AwsFileSettings = Pick<BodyStoreSettings, 'awsCredentialsFile' | 'awsConfigFile'>;

/** The files in which the SDK looks for credentials, where it looks for them. */
export function awsFilesOf(
  { awsCredentialsFile, awsConfigFile }: AwsFileSettings,
  findHome = homedir,
): NamedFile[] {
  // A user that the system does not know, as in many containers, has none.
  const inHome = (...names: string[]): string | undefined => {
    try {
      return join(findHome(), ...names);
    } catch {
      return undefined;
    }
  };
  const pathOf = (named: string | undefined, usual: string) => {
    if (named === undefined) return inHome('.aws', usual);
    return named.startsWith('~/') ? inHome(named.slice(2)) : named;
  };
  const files = [
    { variable: 'AWS_SHARED_CREDENTIALS_FILE', path: pathOf(awsCredentialsFile, 'credentials') },
    { variable: 'AWS_CONFIG_FILE', path: pathOf(awsConfigFile, 'config') },
  ];
  return files.flatMap(({ variable, path }) => (path === undefined ? [] : [{ variable, path }]));
}

/**
 * Reads one of AWS's files. The SDK passes over one that is not there, or that it may not read: to it such a file is empty, until
 * there was something in it. One that is being replaced or written may be gone or empty for a moment.
 */
export function awsFileReader(): (path: string) => Buffer {
  const filled = new Set<string>();
  return (path) => {
    try {
      const content = readFileSync(path);
      if (content.length === 0 && filled.has(path)) throw Object.assign(new Error(), { code: 'it is empty' });
      if (content.length > 0) filled.add(path);
      return content;
    } catch (error) {
      if (filled.has(path)) throw error;
      return Buffer.alloc(0);
    }
  };
}
