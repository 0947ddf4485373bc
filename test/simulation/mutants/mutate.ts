import type { Mutant } from './mutant.ts';

/** @throws TypeError where the text is not there exactly once: the code has changed, and the mutant must follow */
export function mutate({ name, file, find, put }: Mutant, text: string): string {
  const pieces = text.split(find);
  if (pieces.length !== 2)
    throw new TypeError(`"${name}": its text stands ${pieces.length - 1} times in ${file}`);
  return pieces.join(put);
}
