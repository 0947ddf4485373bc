/** One line of a scrape. */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a scrape in Prometheus' text format; comments and what can't be read are passed over. */
export function samplesIn(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', said = '']) => [label, unescaped(said)]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const unescaped = (text: string) => text.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));
