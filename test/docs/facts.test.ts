import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWanted } from '../../src/cli/subscriptions/read-wanted.ts';
import { parseCommand } from '../../src/control/read-command.ts';
import { COMMAND_TYPES } from '../../src/core/command.ts';
import { OWN_TOPICS, topicName } from '../../src/core/names.ts';
import { topicSpecs } from '../../src/kafka/admin/topic-specs.ts';
import { DEFAULT_DIALECT, parseDialect } from '../../src/provider/dialect.ts';
import { readDocument, sectionOf, tableRows } from '../support/documents.ts';
import { ROOT } from '../support/source-tree.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe('docs/acknowledgement.md', () => {
  const rows = tableRows(
    sectionOf(readDocument('docs/acknowledgement.md'), '## The acknowledgement contract'),
  );

  it('has the rows of the contract', () => {
    expect(rows.length).toBeGreaterThanOrEqual(19);
  });

  it.each(rows)('%s: %s, %s (%s)', (what, _answer, _where, proof = '') => {
    const [, file, folder, title] =
      /^([a-z0-9.-]+)(?: \((test\/[a-z/-]+\/)\))?: (.+)$/.exec(proof) ?? expect.fail(`${what}: ${proof}`);
    expect(read(`${folder ?? 'test/flows/'}${file}.test.ts`), what).toContain(title);
  });
});

describe('docs/commands.md', () => {
  const { text } = readDocument('docs/commands.md');
  const fields = JSON.parse(read('schemas/commands/command.avsc')).fields.map(
    ({ name }: { name: string }) => name,
  );

  it('shows every type of command as one that is read', () => {
    const shown = [...text.matchAll(/^\{ "commandId".*\}$/gm)].map(([line]) =>
      parseCommand(JSON.parse(line)),
    );
    expect(shown.map(({ type }) => type)).toEqual(COMMAND_TYPES);
    expect(shown.flatMap(({ unknownFields }) => unknownFields)).toEqual([]);
  });

  it('says what every type does', () => {
    const [, table = ''] = text.split('## Command reference\n');
    expect(tableRows(table).map(([type]) => type)).toEqual(COMMAND_TYPES.map((type) => `\`${type}\``));
  });

  it('shows every field that a command may have', () => {
    const rows = text.split('| field |')[1]?.split('\n\n')[0] ?? '';
    expect([...rows.matchAll(/`(\w+)`(?=[^|]* \|[^|]+\|$)/gm)].map(([, name]) => name)).toEqual(fields);
  });

  it('shows commands of other clients that are read', () => {
    const [, inKcat = ''] = /^echo 'ledger-eu:(.*)' \|$/m.exec(text) ?? [];
    expect(parseCommand(JSON.parse(inKcat)).type).toBe('subscription.create');
    const [, inAvro = ''] = /^command = (\{[\s\S]*?\})$/m.exec(text) ?? [];
    expect([...inAvro.matchAll(/"(\w+)": /g)].map(([, name]) => name)).toEqual(fields);
  });
});

describe('docs/security.md', () => {
  const section = sectionOf(readDocument('docs/security.md'), '## Where personal data is, and how long');
  const rows = tableRows(section);

  it.each(Object.values(OWN_TOPICS).map((name) => topicName('payments', name)))(
    'says how long %s keeps what it holds',
    (topic) => {
      const [, , until = ''] = rows.find(([where = '']) => where.includes(`\`${topic}\``)) ?? [];
      const specs = topicSpecs({
        prefix: 'payments',
        eventTopics: ['unclassified'],
        commandTopics: ['payments.commands'],
        partitions: 6,
        replicationFactor: 3,
        maxRecordBytes: 1,
        minInsyncReplicas: 2,
      });
      const days = Number(specs.find(({ name }) => name === topic)?.config['retention.ms']) / 86_400_000;
      if (days > 0) expect(until).toMatch(new RegExp(`^${days} days?\\b`));
      else expect(until).not.toMatch(/\d days?$/);
      expect(until).not.toBe('');
    },
  );
});

describe('docs/dialect.md', () => {
  it('shows the whole default', () => {
    const [block] = readDocument('docs/dialect.md').blocks.filter(({ language }) => language === 'json');
    const json = block?.text ?? '';
    expect(parseDialect(json)).toEqual(DEFAULT_DIALECT);
    const keys = (value: object): string[] =>
      Object.entries(value).flatMap(([key, inner]) => [
        key,
        ...(typeof inner === 'object' && !Array.isArray(inner) ? keys(inner) : []),
      ]);
    expect(keys(JSON.parse(json)).sort()).toEqual(keys(DEFAULT_DIALECT).sort());
  });
});

describe('docs/subscriptions-as-code.md', () => {
  it('shows a valid file of subscriptions', () => {
    const { blocks } = readDocument('docs/subscriptions-as-code.md');
    const [yaml] = blocks.filter(({ language }) => language === 'yaml');
    expect(readWanted('subscriptions.yaml', yaml?.text ?? '', DEFAULT_DIALECT)).toMatchObject({
      wanted: { subscriptions: [{ ref: 'ledger-eu' }, { ref: 'ledger-us' }, { ref: 'analytics' }] },
    });
  });
});

describe('docs/dependencies.md', () => {
  it('gives the reason for each dependency, and for no other', () => {
    const named = tableRows(readDocument('docs/dependencies.md').text).map(([name]) => name);
    const { dependencies, devDependencies } = JSON.parse(read('package.json'));
    expect(named.sort()).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)].sort());
  });
});

describe('docs/contracts.md', () => {
  const { blocks } = readDocument('docs/contracts.md');

  it('changes the names of another TOPIC_PREFIX in copies of the contracts', () => {
    const { text: commands } = blocks.find(({ text }) => text.includes('sed ')) ?? expect.fail('no block');
    const dir = mkdtempSync(join(tmpdir(), 'hookline-contracts-'));
    try {
      cpSync(join(ROOT, 'schemas/contracts'), join(dir, 'schemas/contracts'), { recursive: true });
      execFileSync('sh', ['-e', '-c', commands], { cwd: dir });
      const copies = readdirSync(join(dir, 'contracts')).filter((name) => name.endsWith('.odcs.yaml'));
      expect(copies).toEqual(readdirSync(join(ROOT, 'schemas/contracts')));
      for (const name of copies) {
        const topic = name.replace('.odcs.yaml', '');
        expect(readFileSync(join(dir, 'contracts', name), 'utf8')).toContain(`name: acme.${topic}`);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('does not send contracts to the port of ingress', () => {
    expect(blocks.filter(({ text }) => text.includes('localhost:8080'))).toEqual([]);
  });
});
