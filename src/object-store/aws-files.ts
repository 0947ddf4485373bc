import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { NamedFile } from '../config/renewed-files.ts';
import type { BodyStoreSettings } from './settings.ts';

export type AwsFileSettings = Pick<BodyStoreSettings, 'awsCredentialsFile' | 'awsConfigFile'>;

/** The files in which the SDK looks for credentials, where it looks for them. */
export const awsFilesOf = ({ awsCredentialsFile, awsConfigFile }: AwsFileSettings): NamedFile[] => [
  { variable: 'AWS_SHARED_CREDENTIALS_FILE', path: pathOf(awsCredentialsFile, 'credentials') },
  { variable: 'AWS_CONFIG_FILE', path: pathOf(awsConfigFile, 'config') },
];

function pathOf(named: string | undefined, usual: string): string {
  if (named === undefined) return join(homedir(), '.aws', usual);
  return named.startsWith('~/') ? join(homedir(), named.slice(2)) : named;
}

/**
 * Reads one of AWS's files. The SDK passes over one that is not there, or that it may not read: to it such a file is empty, until
 * there was something in it. A file that is being replaced may be gone for a moment.
 */
export function awsFileReader(): (path: string) => Buffer {
  const filled = new Set<string>();
  return (path) => {
    try {
      const content = readFileSync(path);
      filled.add(path);
      return content;
    } catch (error) {
      if (filled.has(path)) throw error;
      return Buffer.alloc(0);
    }
  };
}
