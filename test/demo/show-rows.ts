import Table from 'cli-table3';
import type { SeenRecord } from '../support/topic-reader.ts';
import type { Row } from './read-back.ts';

/** The table that a newcomer reads: what was sent, the answer, where it is, and what stands in it. */
export function showRows(rows: readonly Row[], say: (line: string) => void): void {
  const head = ['what was sent', 'answer', 'topic', 'part@offset', 'key', 'event id', 'decoded fields'];
  const table = new Table({
    head,
    style: { head: [], border: [] },
    wordWrap: true,
    colWidths: [28, 11, 19, 13, 11, 11, 42],
  });
  for (const row of rows) table.push(cellsOf(row));
  say(table.toString());
  say('  The same event id twice is the same event: consumers keep the first and pass over the others.');
}

function cellsOf({ sent, topic, records }: Row): string[] {
  const answer = sent.answers.join(', then ');
  const [first] = records;
  if (!first || topic === null)
    return [sent.what, answer, 'nowhere', '', '', '', 'refused: nothing was stored'];
  const places = records.map(({ partition, offset }) => `${partition}@${offset}`).join(' ');
  return [
    sent.what,
    answer,
    topic,
    places,
    short(first.key ?? ''),
    short(sent.eventId ?? ''),
    decoded(first),
  ];
}

function decoded({ record, headers }: SeenRecord): string {
  if (!record) {
    const [stage, code] = ['stage', 'exception.class.name'].map(
      (name) => headers[`__connect.errors.${name}`],
    );
    return `the bytes as they came; ${stage}: ${code}`;
  }
  const report = (record.pacs002 as { FIToFIPmtStsRpt?: Report } | null)?.FIToFIPmtStsRpt;
  if (!report) return `type ${record.type}; source holds the JSON`;
  const { GrpHdr, TxInfAndSts } = report;
  const statuses = (TxInfAndSts ?? []).map(
    (tx) => `${tx?.TxSts} ${tx?.InstgAgt?.FinInstnId?.BICFI} → ${tx?.InstdAgt?.FinInstnId?.BICFI}`,
  );
  return `status ${record.status}, ${GrpHdr?.MsgId}: ${statuses.join(', ')}`;
}

type Agent = { FinInstnId?: { BICFI?: string } };
type Report = {
  GrpHdr?: { MsgId?: string };
  TxInfAndSts?: ({ TxSts?: string; InstgAgt?: Agent; InstdAgt?: Agent } | null)[];
};

const short = (id: string) => (id.length > 12 ? `${id.slice(0, 8)}…` : id);
