import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWanted } from '../src/cli/subscriptions/read-wanted.ts';
import { parseCommand } from '../src/control/parse-command.ts';
import { COMMAND_TYPES } from '../src/core/command.ts';
import { DEFAULT_DIALECT, parseDialect } from '../src/provider/dialect.ts';
import { withTables } from './support/readme/tables.ts';
import { ROOT } from './support/source-tree.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const readme = read('README.md');
const packageJson = JSON.parse(read('package.json'));

/** The rows of the table under a heading, as cells. */
function rowsUnder(heading: string): string[][] {
  const section =
    readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? expect.fail(`no section ${heading}`);
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((line) => line.slice(2, -2).split(' | '));
}

describe('the README', () => {
  it('has the tables that the code makes: configuration, sandbox, errors', () => {
    expect(withTables(readme)).toBe(readme);
  });

  it('has a row for every row of the acknowledgement contract, each with a test that stands there', () => {
    const rows = rowsUnder('The acknowledgement contract');
    expect(rows.length).toBeGreaterThanOrEqual(12);
    for (const [what, , , proof = ''] of rows) {
      const [, file, folder, title] =
        /^([a-z-]+)(?: \((test\/[a-z]+\/)\))?: (.+)$/.exec(proof) ?? expect.fail(`${what}: ${proof}`);
      expect(read(`${folder ?? 'test/flows/'}${file}.test.ts`), what).toContain(title);
    }
  });

  it('shows every type of command as one that is read, and every field that one may have', () => {
    const reference =
      readme.split('\n### Command reference\n')[1]?.split('\n## ')[0] ?? expect.fail('no reference');
    const shown = [...reference.matchAll(/^\{ "commandId".*\}$/gm)].map(([line]) =>
      parseCommand(JSON.parse(line)),
    );
    expect(shown.map(({ type }) => type)).toEqual(COMMAND_TYPES);
    expect(shown.flatMap(({ unknownFields }) => unknownFields)).toEqual([]);
    const fields = JSON.parse(read('schemas/commands/command.avsc')).fields.map(
      ({ name }: { name: string }) => name,
    );
    const rows = reference.split('| field |')[1]?.split('\n\n')[0] ?? '';
    expect([...rows.matchAll(/`(\w+)`(?=[^|]* \|[^|]+\|$)/gm)].map(([, name]) => name)).toEqual(fields);
    const [, inKcat = ''] = /^echo 'ledger-eu:(.*)' \|$/m.exec(reference) ?? [];
    expect(parseCommand(JSON.parse(inKcat)).type).toBe('subscription.create');
    const [, inAvro = ''] = /^command = (\{[\s\S]*?\})$/m.exec(reference) ?? [];
    expect([...inAvro.matchAll(/"(\w+)": /g)].map(([, name]) => name)).toEqual(fields);
  });

  it('shows the dialect as it is by default, whole', () => {
    const [, json = ''] = /### The dialect\n[\s\S]*?```json\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(parseDialect(json)).toEqual(DEFAULT_DIALECT);
    const keys = (value: object): string[] =>
      Object.entries(value).flatMap(([key, inner]) => [
        key,
        ...(typeof inner === 'object' && !Array.isArray(inner) ? keys(inner) : []),
      ]);
    expect(keys(JSON.parse(json)).sort()).toEqual(keys(DEFAULT_DIALECT).sort());
  });

  it('shows a file of subscriptions that is one', () => {
    const [, yaml = ''] = /```yaml\n# subscriptions\.yaml\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(readWanted('README.md', yaml, DEFAULT_DIALECT)).toMatchObject({
      wanted: { subscriptions: [{ ref: 'ledger-eu' }, { ref: 'ledger-us' }, { ref: 'analytics' }] },
    });
  });

  it('gives the reason for each dependency, and for none that is not there', () => {
    const named = rowsUnder('Dependencies').map(([name]) => name);
    const used = [...Object.keys(packageJson.dependencies), ...Object.keys(packageJson.devDependencies)];
    expect(named.sort()).toEqual(used.sort());
  });

  it('maps folders that are there', () => {
    const map = readme.split('## File map')[1] ?? '';
    const folders = [...map.matchAll(/^(src|schemas|deploy|test)\/\S*/gm)].map(([folder]) => folder);
    expect(folders.length).toBeGreaterThan(12);
    for (const folder of folders) expect(existsSync(join(ROOT, folder)), folder).toBe(true);
  });

  it('names verbs that the Makefile and package.json have', () => {
    const makefile = read('Makefile');
    for (const [, verb] of readme.matchAll(/(?:`|^|\$\()make (?:-s )?([a-z-]+)\b/gm))
      expect(makefile).toContain(`\n${verb}:`);
    for (const [, script] of readme.matchAll(/npm run -s ([a-z-]+)/g))
      expect(Object.keys(packageJson.scripts)).toContain(script);
  });

  it('says of package.json that it is private, and records no download address in the lock file', () => {
    expect(packageJson.private).toBe(true);
    expect(read('package-lock.json')).not.toMatch(/"resolved"/);
  });
});
