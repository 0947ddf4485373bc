import { expect, it } from 'vitest';
import { shellCommands } from './shell-commands.ts';

it.each([
  ['make up    # starts Kafka', [['make', 'up']]],
  [
    'eval "$(make -s up)"',
    [
      ['eval', '$()'],
      ['make', '-s', 'up'],
    ],
  ],
  ["A=1 B='x y' npm run -s ingress > log &", [['npm', 'run', '-s', 'ingress']]],
  ['a | b && c; d', [['a'], ['b'], ['c'], ['d']]],
  [
    'until curl -s x > /dev/null; do sleep 1; done',
    [
      ['curl', '-s', 'x'],
      ['sleep', '1'],
    ],
  ],
  ['cat > file <<END\nnot a command\nEND\nnext', [['cat'], ['next']]],
  [`make x ARGS="--a 1" 'b | c'`, [['make', 'x', 'ARGS=--a 1', 'b | c']]],
  ['KEY=$(one "two three" | four)', [['one', 'two three'], ['four']]],
  ['one \\\n  two\nthree', [['one', 'two'], ['three']]],
])('%s', (script, commands) => {
  expect(shellCommands(script)).toEqual(commands);
});
