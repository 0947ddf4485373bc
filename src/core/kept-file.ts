/** What a process keeps for the next one, as JSON. It can do without: neither call throws. */
export type KeptFile = {
  /** What was written last, or undefined where nothing can be read. */
  read(): unknown;
  write(content: unknown): void;
};
