import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { shellLine } from '../support/shell-line.ts';
import { ROOT } from '../support/source-tree.ts';
import { freePorts } from '../support/stack/plan-ports.ts';
import { World } from '../support/world.ts';

/** Some twenty commands, each a process. */
const DEADLINE_MS = 150_000;
let world: World;

beforeAll(async () => {
  world = new World({ brokers: inject('brokers'), registryUrl: inject('registryUrl') });
});

afterAll(() => world[Symbol.asyncDispose]());

/** The commands of a section, as they stand there. */
function commandsOf(heading: string): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const section = readme.split(`\n### ${heading}\n`)[1]?.split('\n### ')[0] ?? expect.fail(`no ${heading}`);
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join('');
}

/** Kafka runs already, in a place of this test's own. Processes are what they are by npm, and end with the shell. */
const AROUND = `
make() { echo :; }
npx() { shift; hookline "$@"; }
npm() { exec node "${ROOT}/src/$3/main.ts"; }
trap 'kill $(jobs -p)' EXIT
`;

it(
  'a new team has three subscriptions, sees drift, adopts one and deletes one, by the commands of the README',
  async () => {
    const [ingress = 0, sandbox = 0] = await freePorts(2);
    const commands = commandsOf('Tried out on one machine')
      .replaceAll('.local/try', world.dir)
      .replaceAll(':8080', `:${ingress}`)
      .replaceAll(':8090', `:${sandbox}`)
      .replace('ADMIN_PORT=9465', 'ADMIN_PORT=0');
    const env = {
      ...{ ...world.env, SECRETS_DIR: undefined, SEALING_KEY_FILE: undefined },
      ...{ CONTROL_GROUP_ID: `${world.prefix}-control`, SANDBOX_URL: `http://127.0.0.1:${sandbox}` },
      ...{ INGRESS_PORT: String(ingress), SANDBOX_PORT: String(sandbox) },
    };
    const { stdout } = await shellLine(`${AROUND}\n${commands}`, env, DEADLINE_MS);
    const order = [
      'Plan: 3 to create; 0 as',
      'Applied: 3 succeeded, 0 failed.',
      'analytics has drifted',
      'SUBSCRIPTION_CHANGED',
      'Applied: 1 succeeded, 0 failed.',
      '+ legacy will be adopted',
      'Applied: 1 succeeded, 0 failed.',
      '- ledger-us will be deleted',
      'Applied: 1 succeeded, 0 failed.',
      '3 listed',
    ];
    let rest = stdout;
    for (const part of order) {
      const at = rest.indexOf(part);
      expect(at, `${part} in ${rest}`).toBeGreaterThanOrEqual(0);
      rest = rest.slice(at + part.length);
    }
  },
  DEADLINE_MS,
);
