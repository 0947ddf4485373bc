import { describe, expect, it } from 'vitest';
import { shellLine } from '../support/shell-line.ts';

/** More than a pipe takes at once, less than a shell takes as an argument. */
const LONG = 'x'.repeat(100_000);

describe('hookline as a process', () => {
  it('writes all of its output before it exits', async () => {
    const { stdout } = await shellLine(`{ hookline ${LONG} 2>&1 || [ $? = 2 ]; } | cat`);
    expect(stdout).toContain(`unknown command '${LONG}'`);
    expect(stdout.trim()).toMatch(/\(hookline --help lists the commands\)$/);
  });

  it('ends quietly if nobody reads its output, with the same exit code', async () => {
    const unread = await shellLine('{ hookline --help; echo "$?" >&2; } | true');
    expect(unread).toEqual({ stdout: '', stderr: '0\n' });
    const wrongly = await shellLine('{ { hookline nonsense; echo "$?" >&3; } 2>&1 | true; } 3>&1');
    expect(wrongly).toEqual({ stdout: '2\n', stderr: '' });
  });

  it('reports an unreachable server in one sentence', async () => {
    const { stderr } = await shellLine('hookline schemas check || [ $? = 1 ]', {
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
    });
    expect(stderr).toMatch(/^hookline: .+\n$/);
  });
});
