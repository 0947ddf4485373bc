import { execFile } from 'node:child_process';

/** Runs a program, with `input` as its standard input, and gives what it wrote; fails with what it complained of. */
export function runProgram(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      reject(new Error(`${program} ${args.join(' ')}: ${stderr || stdout || error.message}`.trim()));
    });
    child.stdin?.end(input ?? '');
  });
}

/** kubectl against the cluster of KUBECONFIG. */
export const kubectl = (...args: string[]) => runProgram('kubectl', args);

/** kubectl whose answer is JSON. */
export const kubectlJson = async <T>(...args: string[]): Promise<T> =>
  JSON.parse(await kubectl(...args, '-o', 'json'));

/** Creates or changes objects. */
export const apply = (...objects: object[]) =>
  runProgram(
    'kubectl',
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );
