import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { freePorts } from '../stack/plan-ports.ts';
import { readDocument, sectionOf } from '../support/documents.ts';
import { shellLine } from '../support/shell-line.ts';
import { ROOT } from '../support/source-tree.ts';
import { type Brokers, Fixture } from '../support/topics-fixture.ts';

/** Some twenty commands, each a process. */
const DEADLINE_MS = 120_000;
/** So that a command that does not end is named, with what the others printed. */
const TEST_MS = DEADLINE_MS + 30_000;
let stack: Brokers;

beforeAll(() => {
  stack = inject('stack');
});

/** Kafka runs already, with topics of this test's own. Processes are started without npm, and end with the shell. */
const AROUND = `
make() { echo :; }
npx() { shift; hookline "$@"; }
npm() { exec node "${ROOT}/src/$3/main.ts"; }
trap 'kill $(jobs -p)' EXIT
`;

/** Runs the command blocks of some sections in one shell, and gives what they print. */
async function follow(path: string, headings: readonly string[], folder: string): Promise<string> {
  await using fixture = new Fixture(stack);
  const [ingress = 0, sandbox = 0, admin = 0] = await freePorts(3);
  const document = readDocument(path);
  const blocks = headings.flatMap((heading) =>
    [...sectionOf(document, heading).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block),
  );
  expect(blocks.length).toBeGreaterThanOrEqual(4);
  const commands = blocks
    .join('')
    .replaceAll(folder, fixture.dir)
    .replaceAll(':8080', `:${ingress}`)
    .replaceAll(':8090', `:${sandbox}`)
    .replaceAll(':9464', `:${admin}`)
    .replace('ADMIN_PORT=9465', 'ADMIN_PORT=0');
  const env = {
    ...fixture.env,
    SECRETS_DIR: undefined,
    SEALING_KEY_FILE: undefined,
    ADMIN_PORT: String(admin),
    CONTROL_GROUP_ID: `${fixture.prefix}-control`,
    SANDBOX_URL: `http://127.0.0.1:${sandbox}`,
    INGRESS_PORT: String(ingress),
    SANDBOX_PORT: String(sandbox),
  };
  const traced = `${AROUND}\nset -x\n${commands}`;
  const { stdout } = await shellLine(traced, env, DEADLINE_MS).catch((error: Error & { stdout: string }) => {
    const files = readdirSync(fixture.dir).filter((name) => name.endsWith('.txt'));
    const texts = files.map((name) => `\n${name}: ${readFileSync(join(fixture.dir, name), 'utf8')}`);
    throw new Error(`${error.message}\nIt printed: ${error.stdout}${texts.join('')}`);
  });
  return stdout;
}

function expectInOrder(text: string, parts: readonly string[]): void {
  let rest = text;
  for (const part of parts) {
    const at = rest.indexOf(part);
    expect(at, `${part} in ${rest}`).toBeGreaterThanOrEqual(0);
    rest = rest.slice(at + part.length);
  }
}

it(
  'a newcomer stores a first webhook and creates a first subscription by the commands of the README',
  async () => {
    const headings = ['## Your first webhook', '## Your first subscription'];
    const stdout = await follow('README.md', headings, '.local/first');
    expectInOrder(stdout, [
      '"stored":"kafka"}',
      'payment-status',
      'ledger-fr',
      'SUCCEEDED',
      '200',
      'ledger-us',
    ]);
  },
  TEST_MS,
);

it(
  'a team has three subscriptions, sees drift, adopts one and deletes one by the commands of docs/subscriptions-as-code.md',
  async () => {
    const headings = ['## Try it on one machine'];
    const stdout = await follow('docs/subscriptions-as-code.md', headings, '.local/try');
    expectInOrder(stdout, [
      'Plan: 3 to create; 0 already as in',
      'Applied: 3 succeeded, 0 failed.',
      'analytics has drifted',
      'SUBSCRIPTION_CHANGED',
      'Applied: 1 succeeded, 0 failed.',
      '+ legacy will be adopted',
      'Applied: 1 succeeded, 0 failed.',
      '- ledger-us will be deleted',
      'Applied: 1 succeeded, 0 failed.',
      '3 listed',
    ]);
  },
  TEST_MS,
);
