import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-tree.ts';

/** Bytes made by other tools: test/vectors/make.py says how. */
export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(join(ROOT, 'test/vectors', name), 'utf8'));
}

export const fromBase64 = (text: string) => Buffer.from(text, 'base64');

export type SignatureVectors = {
  subscriptionId: string;
  signingSecret: string;
  bodies: { base64: string; signature: string }[];
};

export type SealedVectors = {
  encryptionKey: string;
  message: string;
  cases: { layout: string; body: string; message?: string }[];
  /** Sealed in the default layout, and they begin like JSON. */
  lookalikes: string[];
};

export type AvroVectors = {
  schemaId: number;
  value: string;
  record: Record<string, unknown>;
  /** Of the same record, whose message is stored elsewhere. */
  sourceRef: { uri: string; bytes: number; sha256: string; omitted: string[] };
  referringValue: string;
};
