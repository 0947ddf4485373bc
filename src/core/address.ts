/** An address as each reader of URLs spells it: without a default port, host in lower case. What is no URL stays as it is. */
export const canonicalAddress = (text: string): string => URL.parse(text)?.href ?? text;
