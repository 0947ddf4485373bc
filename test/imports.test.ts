import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycle, ROOT, readTree, type SourceFile } from './support/source-tree.ts';

const files = readTree('src');
const folderOf = (path: string) => path.split('/')[1] ?? '';

/** A folder imports from the steps below its own, and from itself. */
const STEPS = [
  ['core'],
  ['config'],
  ['crypto'],
  ['runtime'],
  ['tokens'],
  ['avro', 'kafka', 'monitoring', 'object-store', 'provider', 'spool'],
  ['subscriptions'],
  ['delivery'],
  ['dead-letters'],
  ['ingress', 'control', 'cli'],
  ['console'],
];

/** The sandbox stands apart: a mistake that both sides share must not be able to hide. */
const SANDBOX_MAY_IMPORT = /^src\/(sandbox\/|runtime\/|config\/)/;

/** One home per package; the sandbox writes its own crypto and HTTP. */
const HOMES: Record<string, readonly string[]> = {
  'node:crypto': ['crypto', 'sandbox'],
  'node:sqlite': ['spool', 'console'],
  '@aws-sdk/client-s3': ['object-store'],
  '@fastify/cookie': ['console'],
  '@fastify/csrf-protection': ['console'],
  '@fastify/formbody': ['console'],
  '@fastify/helmet': ['console'],
  '@fastify/rate-limit': ['console'],
  '@fastify/static': ['console'],
  '@kafkajs/confluent-schema-registry': ['avro'],
  '@opentelemetry/api': ['runtime'],
  '@opentelemetry/exporter-trace-otlp-http': ['runtime'],
  '@opentelemetry/resources': ['runtime'],
  '@opentelemetry/sdk-trace': ['runtime'],
  '@platformatic/kafka': ['kafka'],
  avsc: ['avro'],
  'cli-table3': ['cli'],
  'close-with-grace': ['runtime'],
  commander: ['cli'],
  'fastest-levenshtein': ['config'],
  fastify: ['ingress', 'sandbox', 'console'],
  'aws-msk-iam-sasl-signer-js': ['kafka'],
  jose: ['tokens', 'console'],
  kafkajs: ['kafka'],
  'openid-client': ['console'],
  pino: ['runtime'],
  'prom-client': ['runtime'],
  undici: ['runtime', 'sandbox'],
  yaml: ['cli'],
};

const stepOf = (folder: string) => STEPS.findIndex((step) => step.includes(folder));

function mayImport(from: SourceFile, to: string): boolean {
  if (folderOf(from.path) === 'sandbox') return SANDBOX_MAY_IMPORT.test(to);
  if (folderOf(from.path) === folderOf(to)) return true;
  return folderOf(to) !== 'sandbox' && stepOf(folderOf(to)) < stepOf(folderOf(from.path));
}

/** Folders of tests that belong to no source file: they test several processes, documents or the tests' own parts. */
const NOT_UNIT =
  /^test\/(bench|browser|clusters|contracts|demo|deploy|docs|faults|flows|hostile|kubernetes|move|readers|simulation|stack|support)\//;
/** About the repository as a whole. */
const OF_THE_HOUSE = ['test/imports.test.ts', 'test/node-version.test.ts'];

describe('the house', () => {
  it('has only known folders', () => {
    const known = new Set([...STEPS.flat(), 'sandbox']);
    expect(files.filter((file) => !known.has(folderOf(file.path))).map((file) => file.path)).toEqual([]);
  });

  it('imports one way', () => {
    const wrong = files.flatMap((file) =>
      file.ours.filter((to) => !mayImport(file, to)).map((to) => `${file.path} -> ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has no two folders that import each other, at any depth', () => {
    const edges = new Set(
      files.flatMap((file) => file.ours.map((to) => `${dirname(file.path)} -> ${dirname(to)}`)),
    );
    const mutual = [...edges].filter((edge) => {
      const [from, to] = edge.split(' -> ');
      return from !== to && edges.has(`${to} -> ${from}`);
    });
    expect(mutual).toEqual([]);
  });

  it('imports files that are there', () => {
    const lost = files.flatMap((file) => file.ours.filter((to) => !existsSync(join(ROOT, to))));
    expect(lost).toEqual([]);
  });

  it('has no cycles, types included', () => {
    expect(findCycle(files)).toBeNull();
  });

  it('gives each package one home', () => {
    const strays = files.flatMap((file) =>
      file.packages
        .filter((name) => (name.startsWith('node:') ? name in HOMES : true))
        .filter((name) => !HOMES[name]?.includes(folderOf(file.path)))
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('reads process.env in main.ts alone, and nobody imports a main.ts', () => {
    const readers = files.filter((file) => /process\.env/.test(file.text) && !file.path.endsWith('/main.ts'));
    expect(readers.map((file) => file.path)).toEqual([]);
    expect(files.filter((file) => file.ours.some((to) => to.endsWith('/main.ts')))).toEqual([]);
  });

  it('marks a delivery as verified in the check of its signature alone', () => {
    const markers = files
      .filter((file) => /\bmarkVerified\b|\bas (unknown as )?VerifiedDelivery\b/.test(file.text))
      .map((file) => file.path);
    expect(markers).toEqual(['src/core/delivery.ts', 'src/delivery/accept-delivery.ts']);
    const restorers = files.filter((file) => /\brestoreVerified\b/.test(file.text)).map((file) => file.path);
    expect(restorers).toEqual([
      'src/core/delivery.ts',
      'src/dead-letters/redrive-delivery.ts',
      'src/ingress/large-body/worker-thread.ts',
      'src/spool/spool-row.ts',
    ]);
  });

  it('keeps HTTP and Kafka out of the delivery flow', () => {
    const outside = /^(kafkajs|@platformatic\/kafka|fastify|undici|node:https?)$/;
    const wrong = files.flatMap((file) =>
      folderOf(file.path) === 'delivery'
        ? [
            ...file.ours.filter((to) => /^src\/(kafka|ingress)\//.test(to)),
            ...file.packages.filter((name) => outside.test(name)),
          ].map((to) => `${file.path} -> ${to}`)
        : [],
    );
    expect(wrong).toEqual([]);
  });

  it('names each unit test after its source file: <source>.test.ts, or <source>.<topic>.test.ts', () => {
    const tests = readTree('test').map(({ path }) => path);
    const units = tests.filter((path) => path.endsWith('.test.ts') && !NOT_UNIT.test(path));
    const sources = new Set(files.map(({ path }) => path));
    // Where a test needs a Kafka, `.stack` comes last.
    const sourceOf = (path: string) =>
      path.replace(/^test/, 'src').replace(/(\.[a-z-]+)?(\.stack)?\.test\.ts$/, '.ts');
    const strays = units.filter((path) => !OF_THE_HOUSE.includes(path) && !sources.has(sourceOf(path)));
    expect(strays).toEqual([]);
  });

  it('mocks no module in tests: their files share what they import', () => {
    const mocking = readTree('test').filter(({ text }) => /\bvi\.mock\(['"]/.test(text));
    expect(mocking.map(({ path }) => path)).toEqual([]);
  });

  it.each([
    ['a worker thread is started', /\bnew Worker\(/, 'src/runtime/worker-calls.ts'],
    [
      'node:http is loaded',
      /^import (?!type )[^;]*'node:http';|getBuiltinModule\('node:http'\)/m,
      'src/runtime/node-http.ts',
    ],
    ['a consumer is made', /\.consumer\(\{/, 'src/kafka/consume/consumer.ts'],
  ])('says in one file how %s', (_, pattern, home) => {
    const places = files.filter(({ path, text }) => !path.startsWith('src/sandbox/') && pattern.test(text));
    expect(places.map(({ path }) => path)).toEqual([home]);
  });

  it('has no index.ts and no utils', () => {
    expect(files.filter((file) => /(^|\/)(index|utils?|helpers?|common)\.ts$/.test(file.path))).toEqual([]);
  });

  it('lists the components of each process in less than 100 lines', () => {
    const mains = files.filter(({ path }) => /^src\/[a-z]+\/main\.ts$/.test(path));
    expect(mains.map(({ path }) => path)).toContain('src/ingress/main.ts');
    expect(mains.filter(({ lines }) => lines >= 100).map(({ path, lines }) => `${path}: ${lines}`)).toEqual(
      [],
    );
  });

  it('keeps files short: none above 250 lines, the median at most 120', () => {
    expect(files.filter((file) => file.lines > 250).map((file) => `${file.path}: ${file.lines}`)).toEqual([]);
    const sorted = files.map((file) => file.lines).sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(120);
  });
});
