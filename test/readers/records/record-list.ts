import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import type { SeenRecord } from '../../support/topic-reader.ts';
import type { Cell, Topic } from './cells.ts';
import type { Json } from './expected-value.ts';
import { type Sent, typedOf } from './send-records.ts';

export type Fields = { [name: string]: Json };
/** Instead of a message: its size in bytes, and its SHA-256. */
export type Digest = { bytes: number; sha256: string };

/** A record as every reader must find it. */
export type ExpectedRecord = {
  readonly topic: Topic;
  readonly fullTopic: string;
  readonly cell: Cell;
  readonly key: string;
  /** The fields of the schema that it was written with, `source` as its digest. */
  readonly value: Fields;
  /** Of the message, wherever it is. */
  readonly message: Digest;
  /** Of the record's value in its wire format. */
  readonly raw: Digest;
};

/** Not kept in the record of an event of 50 MB where its topic takes 1 MiB. */
const TRANSACTIONS = 'pacs002.FIToFIPmtStsRpt.TxInfAndSts';

export const digestOf = (bytes: Buffer): Digest => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

/** What the record of a message must hold. Its id and time are those of its headers. */
export function expectedRecord(
  sent: Sent,
  { headers, value }: SeenRecord,
  subscription: string,
): ExpectedRecord {
  const { topic, fullTopic, cell, entityId, schema } = sent;
  const { ce_id: eventId = '', ce_time: time = '' } = headers;
  const message = digestOf(sent.message);
  const { type = null, entityId: _, ...typed } = typedOf(sent);
  const isReference = cell.endsWith('reference');
  const hasOmitted = isReference && isList(typed);
  if (hasOmitted) omitTransactions(typed);
  const date = time.slice(0, 10).replaceAll('-', '/');
  const uri = `s3://events/hookline/${fullTopic}/${date}/${eventId}.json`;
  const sourceRef = isReference ? { uri, ...message, omitted: hasOmitted ? [TRANSACTIONS] : [] } : null;
  const envelope = { eventId, type, entityId, subscription, receivedAt: Date.parse(time) };
  const source = isReference ? null : message;
  const hasReference = schema.fields.some(({ name }) => name === 'sourceRef');
  return {
    topic,
    fullTopic,
    cell,
    key: entityId,
    message,
    raw: digestOf(value ?? Buffer.alloc(0)),
    value: { ...envelope, source, ...(hasReference && { sourceRef }), ...typed },
  };
}

type Report = { pacs002?: { FIToFIPmtStsRpt?: { TxInfAndSts: Json } } | null };

const isList = (typed: Fields): boolean => {
  const list = (typed as Report).pacs002?.FIToFIPmtStsRpt?.TxInfAndSts;
  return Array.isArray(list) && list.length > 1_000;
};

function omitTransactions(typed: Fields): void {
  const report = (typed as Report).pacs002?.FIToFIPmtStsRpt;
  if (report) report.TxInfAndSts = null;
}

/** One line a record: together they are larger than a string can be. */
export async function writeRecords(file: string, records: readonly ExpectedRecord[]): Promise<void> {
  const lines = function* () {
    for (const record of records) yield `${JSON.stringify(record)}\n`;
  };
  await pipeline(lines, createWriteStream(file));
}

export async function readRecords(file: string): Promise<ExpectedRecord[]> {
  const records: ExpectedRecord[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) records.push(JSON.parse(line));
  return records;
}
