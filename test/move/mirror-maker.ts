import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { findJdks, newestOf } from '../stack/find-jdk.ts';
import { lastLines } from '../stack/log-tail.ts';
import { fetchBundle } from '../stack/maven.ts';
import { StackError } from '../stack/stack-error.ts';
import { ROOT } from '../support/source-tree.ts';

const DOWNLOAD_MS = 15 * 60_000;

/** Kafka's own MirrorMaker 2 as a process, as `connect-mirror-maker.sh` starts it. */
export class MirrorMaker implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #log = '';

  private constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#log = `${this.#log}${text}`.slice(-1_000_000);
    });
    this.#ended = once(this.#child, 'close');
  }

  /** @param settings the file with its settings */
  static async start(settings: string): Promise<MirrorMaker> {
    const jdk = newestOf(await findJdks(process.env));
    if (!jdk) throw new StackError('MirrorMaker is a Java program, and there is no Java.');
    const folder = await fetchBundle(
      {
        what: 'MirrorMaker 2 (34 MB)',
        pom: resolve(import.meta.dirname, 'mirror-maker/pom.xml'),
        folderProperty: 'mirrorMakerDir',
        args: [],
      },
      {
        dir: join(ROOT, '.local/move'),
        jdk,
        env: process.env,
        signal: AbortSignal.timeout(DOWNLOAD_MS),
        onProgress: (line) => console.log(`move: ${line}`),
      },
    );
    const main = 'org.apache.kafka.connect.mirror.MirrorMaker';
    return new MirrorMaker(join(jdk.home, 'bin/java'), ['-Xmx1g', '-cp', join(folder, '*'), main, settings]);
  }

  /** The end of what it has written that is no mere information. */
  faults(): string {
    return lastLines(
      this.#log
        .split('\n')
        .filter((line) => / ERROR |^Caused by/.test(line))
        .join('\n'),
    );
  }

  /** It copies nothing any more. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
