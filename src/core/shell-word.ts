/** A value as a word of a POSIX shell. */
export const shellWord = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;

/** A command with its argument, which stands behind its options and `--` where it would be taken for one of them. */
export const shellCommand = (
  command: string,
  argument: string,
  options: readonly (string | false)[] = [],
): string => {
  const given = options.filter((option) => option !== false);
  const word = shellWord(argument);
  return (argument.startsWith('-') ? [command, ...given, '--', word] : [command, word, ...given]).join(' ');
};
