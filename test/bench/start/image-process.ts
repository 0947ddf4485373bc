import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();
/** Linux counts when a process was started in hundredths of a second. */
const MS_PER_TICK = 10;
const BEGIN_MS = 10_000;

/** One of Hookline's programs in its image, on the network of this machine, as the user that the image has. */
export class ImageProcess {
  readonly #container: string;
  /** Node's, behind the container's process 1. */
  readonly pid: number;

  /** @param dir of the files that the environment names, seen at the same path inside */
  constructor(image: string, entry: string, env: Readonly<Record<string, string | undefined>>, dir: string) {
    execFileSync('chmod', ['-R', 'a+rX', dir]);
    const variables = Object.entries(env).flatMap(([name, value]) =>
      value === undefined ? [] : ['-e', `${name}=${value}`],
    );
    const place = ['--network', 'host', '-v', `${dir}:${dir}:ro`];
    this.#container = docker('run', '-d', ...place, ...variables, image, entry);
    this.pid = this.#childOf(docker('inspect', '-f', '{{.State.Pid}}', this.#container));
  }

  /** Milliseconds since it was started, to a hundredth of a second. */
  get ageMs(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1');
    // Fields are counted behind the name's last bracket; starttime is 22.
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    const upMs = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 1_000;
    return upMs - ticks * MS_PER_TICK;
  }

  /** null while it runs. */
  get exitCode(): number | null {
    if (existsSync(`/proc/${this.pid}`)) return null;
    return Number(docker('inspect', '-f', '{{.State.ExitCode}}', this.#container));
  }

  written = (): string => docker('logs', this.#container);

  /** In its order: the group that control is in would wait for one that is killed. */
  async stop(): Promise<void> {
    docker('stop', '--time', '10', this.#container);
    docker('rm', this.#container);
  }

  #childOf(pid: string): number {
    const end = performance.now() + BEGIN_MS;
    while (performance.now() < end) {
      const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
      if (child !== '') return Number(child);
    }
    throw new Error(`no program runs in the container after ${BEGIN_MS / 1_000} s: ${this.written()}`);
  }
}
