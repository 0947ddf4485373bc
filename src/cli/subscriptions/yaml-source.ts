import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml';

/** A field of a map, with the place of its name. */
export type Field = { readonly name: string; readonly value: Node | null; readonly at: string };

/** A YAML file whose values know where they stand, so that a fault can say where it is. */
export type YamlSource = {
  readonly root: Node | null;
  /** Faults so far, each behind its place: file:line:column. */
  readonly faults: string[];
  at(node: unknown): string;
  fault(node: unknown, words: string): void;
  /** The fields of a map; what is no map, or has other fields than `known`, is a fault. */
  fields(node: Node | null, what: string, known?: readonly string[]): Field[];
  /** The value as JavaScript has it; of what isn't as `what` says, a fault and undefined. */
  text(node: Node | null, what: string): string | undefined;
  flag(node: Node | null, what: string): boolean | undefined;
  items(node: Node | null, what: string): Node[] | undefined;
  /** What can't be had, as it unfolds without end, is a fault and undefined. */
  plain(node: Node | null): unknown;
};

/** Values that aliases may unfold to: a few lines could stand for billions. */
const MOST_ALIASED = 100;

/** What the parser says to programmers, in words for whoever writes the file. */
const WORDS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this name stands in the map already',
  MULTIPLE_DOCS: 'a second document begins here: give one',
};

export function readYaml(file: string, text: string): YamlSource {
  const lines = new LineCounter();
  const document: Document.Parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const at = (node: unknown) => place((node as Node | null)?.range?.[0] ?? 0);
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code, message }) => `${place(pos[0])}: ${WORDS[code] ?? message}`,
  );
  const fault = (node: unknown, words: string) => void faults.push(`${at(node)}: ${words}`);
  const meant = (node: unknown): Node | null =>
    (isAlias(node) ? node.resolve(document) : (node as Node | null)) ?? null;
  const scalar = <T>(node: Node | null, what: string, is: (value: unknown) => value is T) => {
    const value = meant(node);
    if (isScalar(value) && is(value.value)) return value.value;
    fault(node, `${what}, not ${shown(value)}`);
    return undefined;
  };
  return {
    root: meant(document.contents),
    faults,
    at,
    fault,
    fields(node, what, known) {
      const map = meant(node);
      if (!isMap(map)) {
        fault(node, `${what}, not ${shown(map)}`);
        return [];
      }
      return fieldsOf(map, at).filter(({ name, at: where }) => {
        const isKnown = known === undefined || known.includes(name);
        if (!isKnown) faults.push(`${where}: unknown field ${JSON.stringify(name)}: use ${inList(known)}`);
        return isKnown;
      });
    },
    text: (node, what) => scalar(node, what, (value) => typeof value === 'string'),
    flag: (node, what) => scalar(node, what, (value) => typeof value === 'boolean'),
    items(node, what) {
      const list = meant(node);
      if (isSeq(list)) return list.items as Node[];
      fault(node, `${what}, not ${shown(list)}`);
      return undefined;
    },
    plain(node) {
      try {
        return meant(node)?.toJS(document, { maxAliasCount: MOST_ALIASED });
      } catch (error) {
        fault(node, (error as Error).message);
        return undefined;
      }
    },
  };
}

function fieldsOf(map: YAMLMap, at: (node: unknown) => string): Field[] {
  return map.items.map(({ key, value }) => {
    const name = isScalar(key) ? (key.source ?? String(key.value)) : '';
    return { name, value: value as Node | null, at: at(key) };
  });
}

const inList = (names: readonly string[]) => names.join(', ');

function shown(node: Node | null): string {
  if (isMap(node)) return 'a map';
  if (isSeq(node)) return 'a list';
  return isScalar(node) && node.value !== null ? JSON.stringify(node.value) : 'nothing';
}
