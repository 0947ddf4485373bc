/** The commands of a shell script, each as its words without quotes. It reads what documents show, not all of bash. */
export function shellCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  const inner: string[] = [];
  let word: string | null = null;
  let quote = '';
  const text = withoutHereDocuments(script);
  const endWord = () => {
    if (word !== null) commands.at(-1)?.push(word);
    word = null;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (quote !== "'" && text.startsWith('$(', at)) {
      const end = closingAt(text, at + 1);
      inner.push(text.slice(at + 2, end));
      word = `${word ?? ''}$()`;
      at = end;
    } else if (quote) {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (char === '\\' && text[at + 1] === '\n') {
      at++;
    } else if (char === '#' && word === null) {
      at = endOfLine(text, at) - 1;
    } else if (char === '>' || char === '<') {
      endWord();
      commands.at(-1)?.push(char);
    } else if (/[|&;\n]/.test(char)) {
      endWord();
      commands.push([]);
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      word = `${word ?? ''}${char}`;
    }
  }
  endWord();
  return [...commands.map(bare).filter(([program]) => program), ...inner.flatMap(shellCommands)];
}

const KEYWORDS = new Set(['until', 'while', 'if', 'then', 'do', 'done', 'else', 'fi', '!']);

/** Without keywords and assignments before the program, and without redirections. */
function bare(words: readonly string[]): string[] {
  const kept = words.filter((word, n) => !/^[<>]$/.test(word) && !/^[<>]$/.test(words[n - 1] ?? ''));
  const start = kept.findIndex((word) => !KEYWORDS.has(word) && !/^\w+=/.test(word));
  return start < 0 ? [] : kept.slice(start);
}

const withoutHereDocuments = (script: string) => script.replaceAll(/<<(\w+)\n[\s\S]*?^\1$/gm, '');

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function closingAt(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return at;
  }
  return text.length;
}
