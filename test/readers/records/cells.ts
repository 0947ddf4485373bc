/** The topics of events, without their prefix. */
export const TOPICS = ['payment-status', 'accounts-entries', 'collection-status', 'unclassified'] as const;
export type Topic = (typeof TOPICS)[number];

/** The columns of the table in docs/readers.md: a version of the schemas, and where the message is. */
export const CELLS = [
  '0.1',
  '1.0',
  '1.0, reference',
  '1.1',
  '1.1, reference',
  '50 MB in the record',
  '20 × 50 MB, reference',
] as const;
export type Cell = (typeof CELLS)[number];

/** Large ones are payment statuses: the only type whose rows are nested. */
const LARGE: readonly Cell[] = ['50 MB in the record', '20 × 50 MB, reference'];

/** What a topic holds. */
export const cellsOf = (topic: Topic): Cell[] =>
  CELLS.filter((cell) => topic === 'payment-status' || !LARGE.includes(cell));

/** Every topic with every cell that it has. */
export const ALL_CELLS: readonly (readonly [Topic, Cell])[] = TOPICS.flatMap((topic) =>
  cellsOf(topic).map((cell) => [topic, cell] as const),
);
