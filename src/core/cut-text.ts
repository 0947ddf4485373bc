/** A text of at most so many characters. It is a copy: in V8 a part of a string keeps the whole of it in memory. */
export const cutText = (text: string, length: number): string =>
  text.length > length ? Buffer.from(text.slice(0, length), 'utf16le').toString('utf16le') : text;

/** A text of at most so many characters, and an ellipsis where it had more. */
export const shortText = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;
