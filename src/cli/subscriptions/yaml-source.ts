import {
  CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml';

/** A field of a map, with the position of its name. */
export type Field = { readonly name: string; readonly value: Node | null; readonly at: string };

/** A parsed YAML file. Faults name the position of the value: file:line:column. */
export type YamlSource = {
  readonly root: Node | null;
  /** Faults so far, each with its position. */
  readonly faults: string[];
  at(node: unknown): string;
  fault(node: unknown, words: string): void;
  /** The fields of a map. It is a fault if the node is not a map, or has other fields than `known`. */
  fields(node: Node | null, what: string, known?: readonly string[]): Field[];
  /** The value as a string; undefined, and a fault with the text `what`, if it is not one. */
  text(node: Node | null, what: string): string | undefined;
  flag(node: Node | null, what: string): boolean | undefined;
  items(node: Node | null, what: string): Node[] | undefined;
  /** The value as JavaScript; undefined, and a fault, if its aliases expand too far, or to the value that they stand in. */
  plain(node: Node | null): unknown;
};

/** Values that aliases may expand to: a few lines can expand to billions. */
const MAX_ALIASES = 100;

const TOO_DEEP = 'values are nested too deeply';
/** The parser's messages that are not clear to the author of a file. */
const TEXTS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'the map already has this name',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  MULTIPLE_DOCS: 'a second YAML document starts here: give only one',
};

export function readYaml(file: string, text: string): YamlSource {
  const lines = new LineCounter();
  const parsed = parse(text, lines);
  const document = parsed ?? parseDocument('');
  const position = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const at = (node: unknown) => position((node as Node | null)?.range?.[0] ?? 0);
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code, message }) => `${position(pos[0])}: ${TEXTS[code] ?? message}`,
  );
  if (!parsed) faults.push(`${file}:1:1: ${TOO_DEEP}`);
  const fault = (node: unknown, words: string) => void faults.push(`${at(node)}: ${words}`);
  const resolved = (node: unknown): Node | null =>
    (isAlias(node) ? node.resolve(document) : (node as Node | null)) ?? null;
  const scalar = <T>(node: Node | null, what: string, is: (value: unknown) => value is T) => {
    const value = resolved(node);
    if (isScalar(value) && is(value.value)) return value.value;
    fault(node, `${what}, not ${shown(value)}`);
    return undefined;
  };
  return {
    root: resolved(document.contents),
    faults,
    at,
    fault,
    fields(node, what, known) {
      const map = resolved(node);
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
      const list = resolved(node);
      if (isSeq(list)) return list.items as Node[];
      fault(node, `${what}, not ${shown(list)}`);
      return undefined;
    },
    plain(node) {
      let value: unknown;
      try {
        value = resolved(node)?.toJS(document, { maxAliasCount: MAX_ALIASES });
      } catch (error) {
        fault(node, (error as Error).message);
        return undefined;
      }
      if (isTree(value)) return value;
      fault(node, 'the value contains itself by an alias');
      return undefined;
    },
  };
}

/** Null where its values are nested so deeply that the parser has no stack left. */
function parse(text: string, lineCounter: LineCounter): Document.Parsed | null {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** By which the lexer says what comes next. */
const LEXER_MARKS: ReadonlySet<string> = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

/** Whether the text has more names, values and signs than `most`. It takes no longer the more there are beyond that. */
export function hasMoreTokens(text: string, most: number): boolean {
  let count = 0;
  for (const token of new Lexer().lex(text)) {
    if (token.trim() !== '' && !LEXER_MARKS.has(token)) count++;
    if (count > most) return true;
  }
  return false;
}

/** Whether it can be written as JSON: no part of it contains itself. */
function isTree(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
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
