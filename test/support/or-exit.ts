/** What a program reads of how it was called; or its end with exit code 2, after what is wrong and how it is called. */
export function orExit<T>(read: () => T, usage?: string): T {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    process.stderr.write(usage === undefined ? `${message}\n` : `${message}\n${usage}\n`);
    process.exit(2);
  }
}
