/** A small sabotage of the production code: `find`, which stands once in the file, becomes `put`. */
export type Mutant = {
  /** Which schedules find it, if not those of webhooks. */
  readonly of?: 'control';
  readonly name: string;
  /** From src/. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
};
