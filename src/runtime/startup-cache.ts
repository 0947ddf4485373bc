/** What a process keeps for the next one, as JSON. It can do without: neither call throws. */
export type KeptFile = {
  /**
   * What was written last, as `check` makes it of the file's JSON; undefined where there is no file, or a damaged one.
   * @param check throws where the content is not what was written
   */
  read<T>(check: (content: unknown) => T): T | undefined;
  write(content: unknown): void;
};
