/**
 * What nobody sees, or what turns the text around it: control and format characters, separators of lines and paragraphs, and those that
 * have no picture of their own, such as U+200B, U+FEFF or U+3164.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * The text with these characters as escapes, as JSON has them: a value from outside must not look like another one.
 * @param kept those that stay as they are
 */
export const showHidden = (text: string, kept: string): string =>
  text.replaceAll(HIDDEN, (character) => (kept.includes(character) ? character : escaped(character)));

/** Above U+FFFF two units. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('');
