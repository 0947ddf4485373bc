import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../support/source-tree.ts';
import { type PythonTool, pythonTool } from './python-tool.ts';
import { sparkEnvironment } from './spark/spark-environment.ts';

/** One check of a contract, as datacontract-cli reports it. */
export type Check = {
  readonly type: string;
  readonly name: string;
  readonly field: string | null;
  readonly result: 'passed' | 'warning' | 'failed' | 'error' | 'skipped';
  readonly reason: string | null;
};

export type Judgement = {
  readonly exitCode: number;
  readonly checks: readonly Check[];
  readonly output: string;
};

export const passedOf = ({ checks }: Judgement): readonly Check[] =>
  checks.filter(({ result }) => result === 'passed');

/** What has not passed, each as its result and its name. */
export const faultsOf = ({ checks }: Judgement): readonly string[] =>
  checks.filter(({ result }) => result !== 'passed').map(({ name, result }) => `${result}: ${name}`);

/** datacontract-cli, which knows nothing of Hookline: it judges contracts, and topics by their contracts. */
export type Datacontract = {
  /** Whether a file is a contract of the standard. */
  lint(file: string): Promise<Judgement>;
  /** Whether what the contract's topic holds is as the contract says. */
  test(file: string, stack: { brokers: string; registryUrl: string }): Promise<Judgement>;
  /** The contract that it makes of an Avro schema itself. */
  importAvro(file: string): Promise<unknown>;
};

const NEWEST: PythonTool = {
  program: 'datacontract',
  what: 'datacontract-cli (200 MB)',
  requirements: resolve(import.meta.dirname, 'datacontract.txt'),
  pythons: ['3.14', '3.13', '3.12', '3.11'],
};

const WITH_SPARK: PythonTool = {
  program: 'datacontract',
  what: 'datacontract-cli with Spark (600 MB)',
  requirements: resolve(import.meta.dirname, 'datacontract-spark.txt'),
  pythons: ['3.13', '3.12', '3.11'],
};

const DEADLINE_MS = 120_000;

const onProgress = (line: string) => console.log(`contracts: ${line}`);

/** The newest version: it reads Kafka by librdkafka, and decodes by fastavro. */
export const openDatacontract = async (): Promise<Datacontract> => callable(await installed(NEWEST), {});

/** The last version that reads Kafka through Spark, which decodes by the Avro of Java. */
export const openDatacontractOnSpark = async (): Promise<Datacontract> =>
  callable(await installed(WITH_SPARK), await sparkEnvironment(onProgress));

const installed = (tool: PythonTool) =>
  pythonTool(tool, {
    env: process.env,
    dir: join(ROOT, '.local/tools'),
    signal: new AbortController().signal,
    onProgress,
  });

function callable(program: string, own: Record<string, string>): Datacontract {
  const call = (args: readonly string[], env: Record<string, string> = {}) =>
    new Promise<{ exitCode: number; output: string }>((done) => {
      const options = {
        env: { ...process.env, ...own, ...env, COLUMNS: '200', NO_COLOR: '1' },
        timeout: DEADLINE_MS,
        maxBuffer: 64 * 1024 * 1024,
      };
      execFile(program, args, options, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        done({ exitCode, output: stdout + stderr });
      });
    });
  const judge = async (verb: string, file: string, env?: Record<string, string>): Promise<Judgement> => {
    const dir = mkdtempSync(join(tmpdir(), 'hookline-contract-'));
    const report = join(dir, 'report.json');
    try {
      const { exitCode, output } = await call(
        [verb, file, '--output', report, '--output-format', 'json'],
        env,
      );
      return { exitCode, output, checks: JSON.parse(readFileSync(report, 'utf8')).checks };
    } finally {
      rmSync(dir, { recursive: true });
    }
  };
  return {
    lint: (file) => judge('lint', file),
    test: (file, { brokers, registryUrl }) =>
      judge('test', file, { KAFKA_BROKERS: brokers, DATACONTRACT_KAFKA_SCHEMA_REGISTRY_URL: registryUrl }),
    async importAvro(file) {
      const { exitCode, output } = await call(['import', 'avro', '--source', file]);
      if (exitCode !== 0) throw new Error(`datacontract import avro ${file}: ${output}`);
      return parse(output);
    },
  };
}
