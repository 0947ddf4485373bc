import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findJdks, newestOf } from '../../stack/find-jdk.ts';
import { type Bundle, fetchBundle } from '../../stack/maven.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import { StackError } from '../../stack/stack-error.ts';
import { LOCAL_DIR } from '../../stack/start-stack.ts';
import { ROOT } from '../source-tree.ts';
import { type GoTool, goTool } from '../tools/go-tool.ts';
import { until } from '../until.ts';

/** An object store that runs, with one bucket. */
export type RunningStore = AsyncDisposable & {
  readonly endpoint: string;
  readonly bucket: string;
  /** For processes that use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends it at once; what it holds stays. */
  kill(): Promise<void>;
  /** Starts it again where it has ended, at the same address. */
  start(): Promise<void>;
  /** Stops and resumes all its threads: connections are accepted, and nothing answers. */
  freeze(): void;
  resume(): void;
};

const BUCKET = 'events';
/** The one key that S3Mock knows. */
export const KMS_KEY = 'hookline';
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'hookline', AWS_SECRET_ACCESS_KEY: 'hookline-secret' };
const READY_MS = 180_000;

const S3MOCK: Bundle = {
  what: 'S3Mock (100 MB)',
  pom: resolve(import.meta.dirname, 'pom.xml'),
  folderProperty: 'storeDir',
  args: [],
};

const onProgress = (line: string) => console.log(`object store: ${line}`);

/** S3Mock, whose files are kept over a restart. */
export async function startS3Mock(): Promise<RunningStore> {
  const jdk = newestOf(await findJdks(process.env));
  if (!jdk) throw new StackError('S3Mock is a Java program, and there is no Java.');
  const signal = AbortSignal.timeout(15 * 60_000);
  const folder = await fetchBundle(S3MOCK, { dir: LOCAL_DIR, jdk, env: process.env, signal, onProgress });
  const [httpPort, httpsPort] = (await freePorts(2)) as [number, number];
  const dir = mkdtempSync(join(tmpdir(), 'hookline-s3mock-'));
  for (const folder of ['tmp', 'store']) mkdirSync(join(dir, folder));
  const args = [
    ...['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', `-Djava.io.tmpdir=${join(dir, 'tmp')}`],
    ...['-jar', join(folder, 's3mock.jar')],
    ...[`--server.port=${httpsPort}`, `--com.adobe.testing.s3mock.http-port=${httpPort}`],
    `--com.adobe.testing.s3mock.store.root=${join(dir, 'store')}`,
    '--com.adobe.testing.s3mock.store.retain-files-on-exit=true',
    `--com.adobe.testing.s3mock.store.initial-buckets=${BUCKET}`,
    `--com.adobe.testing.s3mock.store.valid-kms-keys=arn:aws:kms:us-east-1:1234567890:key/${KMS_KEY}`,
  ];
  const command = { command: join(jdk.home, 'bin/java'), args };
  return startProgram(command, `http://127.0.0.1:${httpPort}`, dir);
}

/** A second judge: it is stricter about signatures and checksums. */
const VERSITYGW: GoTool = {
  name: 'versitygw',
  package: 'github.com/versity/versitygw/cmd/versitygw',
  version: 'v1.8.0',
};

/** The Versity gateway over a folder. */
export async function startVersityGateway(): Promise<RunningStore> {
  const command = await goTool(VERSITYGW, {
    env: process.env,
    dir: join(ROOT, '.local/tools'),
    onProgress,
    signal: new AbortController().signal,
  });
  const [port] = (await freePorts(1)) as [number];
  const dir = mkdtempSync(join(tmpdir(), 'hookline-versity-'));
  mkdirSync(join(dir, BUCKET));
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = CREDENTIALS;
  const access = ['--access', AWS_ACCESS_KEY_ID, '--secret', AWS_SECRET_ACCESS_KEY];
  const args = ['--port', `127.0.0.1:${port}`, ...access, '--quiet', 'posix', dir];
  return startProgram({ command, args }, `http://127.0.0.1:${port}`, dir);
}

async function startProgram(
  { command, args }: { command: string; args: readonly string[] },
  endpoint: string,
  dir: string,
): Promise<RunningStore> {
  const launch = () => spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let child = launch();
  let output = '';
  const start = async () => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output = `${output}${text}`.slice(-4_000);
      });
    await until(
      'the object store answers',
      async () => {
        if (child.exitCode !== null) throw new StackError(`The object store has ended: ${output}`);
        return fetch(endpoint, { signal: AbortSignal.timeout(2_000) }).then(
          (response) => response.status < 500,
          () => false,
        );
      },
      READY_MS,
    );
  };
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const kill = async () => {
    if (!isRunning()) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await start();
  } catch (error) {
    await kill();
    throw error;
  }
  return {
    endpoint,
    bucket: BUCKET,
    env: {
      ...CREDENTIALS,
      BODY_STORE: `s3://${BUCKET}/hookline`,
      BODY_STORE_ENDPOINT: endpoint,
    },
    kill,
    async start() {
      if (isRunning()) return;
      child = launch();
      await start();
    },
    freeze: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT');
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
