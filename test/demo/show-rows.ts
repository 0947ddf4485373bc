import Table from 'cli-table3';
import { columnWidths, wrap } from '../../src/cli/shell/print-rows.ts';
import type { SeenRecord } from '../support/topic-reader.ts';
import type { Row } from './read-back.ts';

/** Where nobody says how wide the terminal is. */
const COLUMNS = 120;
const HEAD = ['what was sent', 'answer', 'topic, partition@offset', 'key', 'event id', 'decoded fields'];

/** The table that a newcomer reads: what was sent, the answer, where it is, and what stands in it. */
export function showRows(rows: readonly Row[], say: (line: string) => void, columns = COLUMNS): void {
  const cells = [HEAD, ...rows.map(cellsOf)];
  // A border before each column and behind the last, a space on both sides of a text.
  const widths = columnWidths(cells, columns - 3 * HEAD.length - 1);
  const [head = [], ...body] = cells.map((row) => row.map((text, at) => wrap(text, widths[at] ?? 0)));
  const table = new Table({ head, style: { head: [], border: [] } });
  table.push(...body);
  say(table.toString());
  say('  The same event id twice is the same event: consumers keep the first and pass over the others.');
}

function cellsOf({ sent, topic, records }: Row): string[] {
  const answer = sent.answers.join(', then ');
  const [first] = records;
  if (!first || topic === null) return [sent.what, answer, 'nowhere', '', '', 'refused: nothing was stored'];
  const places = records.map(({ partition, offset }) => `${partition}@${offset}`).join(' ');
  const key = short(first.key ?? '');
  const id = short(sent.eventId ?? '');
  return [sent.what, answer, `${topic} ${places}`, key, id, decoded(first)];
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
