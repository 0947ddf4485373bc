import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { mutate } from './mutants/mutate.ts';

const HERE = join(ROOT, 'test/simulation');

type Run = { readonly code: number; readonly lines: readonly string[] };

/** In a process of its own: there nothing but the simulation asks Node for timers. */
function simulate(args: readonly string[], { root = ROOT, mutant = '' } = {}): Promise<Run> {
  const apply = mutant === '' ? [] : ['--import', join(HERE, 'mutants/apply.ts')];
  const number = MUTANTS.findIndex(({ name }) => name === mutant);
  const env = { ...process.env, HOOKLINE_MUTANT: `${number}` };
  const all = [...apply, join(root, 'test/simulation/main.ts'), '--jobs', '1', ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, all, { cwd: root, env }, (error, stdout, stderr) => {
      const lines = `${stdout}${stderr}`.trimEnd().split('\n');
      resolve({ code: Number(error?.code ?? 0), lines });
    });
  });
}

/** On a machine that is busy with other tests besides. */
const LONG = { timeout: 240_000 };

/** Schedules that have broken a promise once, made short, and a mutant that brings the mistake back. */
const REGRESSIONS = [
  ['control/what-is-elsewhere-is-not-deleted.json', 'an adoption that is given up deletes what is elsewhere'],
  [
    'control/an-adoption-that-is-resumed-knows-what-was-before.json',
    'an adoption that is resumed takes its own record for what was before',
  ],
  [
    'control/an-adoption-that-comes-to-nothing-is-withdrawn.json',
    'an adoption that comes to nothing is not withdrawn',
  ],
  [
    'control/what-may-deliver-here-is-verified-here.json',
    'an adoption is withdrawn although it may have had its effect',
  ],
  [
    'webhooks/a-held-key-waits-for-those-with-the-brokers.json',
    'a held key does not wait for those with the brokers',
  ],
  [
    'webhooks/a-row-does-not-overtake-what-a-stuck-topic-skipped.json',
    'a row waits for its object although an earlier one of its topic was skipped',
  ],
  ['webhooks/a-full-backlog-refuses-no-row-of-the-spool.json', 'a full backlog refuses rows of the spool'],
  [
    'webhooks/what-halted-queues-have-left-has-its-deadline.json',
    'no time passes for what halted queues have left',
  ],
  [
    'webhooks/rows-that-are-drained-keep-their-order-when-others-are-spooled.json',
    'rows that are drained are dropped with what is spooled, and come again each by itself',
  ],
  [
    'webhooks/what-waited-for-a-handover-is-tried-once.json',
    'what waited for a handover shares its try with the one before',
  ],
  [
    'webhooks/no-webhook-waits-for-one-handover-after-the-other.json',
    'what waited for a handover waits for the next one',
  ],
  [
    'webhooks/keys-that-change-while-the-spool-is-opened-are-taken.json',
    'keys that change while the spool is opened are missed',
  ],
  [
    'webhooks/a-spool-that-is-opened-anew-goes-on-with-its-numbers.json',
    'rows of a spool that is opened anew have numbers that others had',
  ],
  ['webhooks/removals-share-a-sync.json', 'each removal has a sync of its own'],
  ['webhooks/an-object-store-that-hangs-has-a-deadline.json', 'a write to the object store has no deadline'],
  [
    'control/commits-follow-the-coordinator.json',
    'commits go to the broker that coordinated when the group was joined',
  ],
  [
    'control/a-connection-that-was-given-up-is-not-made-later.json',
    'a connection that was given up is made later',
  ],
  ['control/a-forgotten-member-joins-again.json', 'a member that the group has forgotten fetches on'],
  [
    'control/heartbeats-go-on-when-the-clock-is-set-back.json',
    'no heartbeat is sent while the clock is behind',
  ],
  ['control/what-is-done-is-committed-after-the-lease.json', 'what is done is not committed after the lease'],
  [
    'control/nothing-more-is-sent-when-a-request-was-not-answered.json',
    'a machine goes on sending what was not answered in time',
  ],
  ['control/no-commit-comes-behind-a-newer-one.json', 'a commit that failed is sent again behind newer ones'],
  ['control/a-member-of-two-generations-joins-again.json', 'a member goes on as one of two generations'],
  [
    'control/work-ends-when-the-group-is-left.json',
    'a process goes on when it has left the group, or is given nothing',
  ],
  [
    'control/nothing-is-asked-of-the-provider-after-the-lease.json',
    'the lease is not checked before a request',
  ],
  ['control/what-a-lost-answer-has-done-is-looked-for.json', 'a lost answer counts as no effect'],
  [
    'control/what-a-creation-has-left-goes-when-another-is-adopted.json',
    'what a creation has left stays when another subscription is adopted',
  ],
] as const;

/** Others, whose mistake no mutant brings back: most are prevented by more than one guard by now. */
const WITHOUT_MUTANT = [
  'control/a-subscription-that-is-lost-again-is-reported-again.json',
  'control/a-creation-that-comes-to-nothing-leaves-what-ifmatch-names.json',
  'control/an-adoption-that-died-behind-its-intent-and-cannot-look-stays.json',
  'control/a-socket-that-is-ended-while-it-connects-connects-first.json',
  // Its oracle did not know that what stands at our address may have come there by a call before a crash.
  'control/an-adoption-that-died-behind-its-intent-stays-where-it-delivers-here.json',
  'control/what-is-missing-is-not-deleted-to-be-repaired.json',
  // Its oracle took the end of a command that was taken up again for its beginning.
  'control/a-command-that-is-taken-up-again-has-cleared-its-address-before.json',
  'control/a-process-waits-for-what-it-has-written.json',
  // Its oracle took a dry run for a creation.
  'control/a-dry-run-clears-nothing-at-the-provider.json',
  // Its oracle did not know when nobody waits any more.
  'control/an-effect-may-come-after-its-call-was-given-up.json',
  'webhooks/a-drain-ends-what-it-has-begun.json',
  'webhooks/a-row-does-not-overtake-one-that-is-read-again.json',
  'webhooks/a-row-in-its-turn-does-not-overtake-one-that-was-skipped.json',
  'control/a-client-that-starts-again-has-no-offset.json',
  'control/no-result-comes-after-the-lease.json',
  'control/no-commit-is-taken-for-done-while-joining.json',
];

/** How many of each kind run in a few seconds. */
const COUNTS = [
  ['webhooks', '200'],
  ['control', '25'],
] as const;

describe('webhooks and commands in simulated time', () => {
  it('have a test of each schedule that once broke a promise', () => {
    const kept = ['control', 'webhooks'].flatMap((of) =>
      readdirSync(join(HERE, 'regressions', of)).map((file) => `${of}/${file}`),
    );
    const run: string[] = [...REGRESSIONS.map(([file]) => file), ...WITHOUT_MUTANT];
    expect(run.toSorted()).toEqual(kept.toSorted());
  });

  it.each(COUNTS)('keep every promise in the same schedules of %s as ever', LONG, async (of, count) => {
    const { code, lines } = await simulate(['--of', of, '--seed', '1', '--schedules', count]);
    expect(lines.join('\n')).toContain(`schedules ${count}, violations 0, trace `);
    expect(code).toBe(0);
  });

  it.each(COUNTS)(
    'keep every promise in schedules of %s that nobody has run before',
    LONG,
    async (of, count) => {
      const { code, lines } = await simulate(['--of', of, '--schedules', count]);
      console.log(lines[0]);
      expect(lines.join('\n')).toContain(`schedules ${count}, violations 0, trace `);
      expect(code).toBe(0);
    },
  );

  it.each(REGRESSIONS)('%s, unless %s', LONG, async (file, mutant) => {
    const args = ['--first', '--plan', join(HERE, 'regressions', file)];
    const [fixed, broken] = await Promise.all([simulate(args), simulate(args, { mutant })]);
    expect(fixed.lines.at(-1)).toMatch(/^schedules 1, violations 0,/);
    expect(broken.lines.at(-1)).toMatch(/^schedules 1, violations 1,/);
  });

  it.each(WITHOUT_MUTANT)('%s', LONG, async (file) => {
    const { lines } = await simulate(['--first', '--plan', join(HERE, 'regressions', file)]);
    expect(lines.at(-1)).toMatch(/^schedules 1, violations 0,/);
  });

  it('leave the same trace in another checkout, and by two processes', LONG, async () => {
    const root = mkdtempSync(join(tmpdir(), 'hookline-simulation-'));
    try {
      for (const part of ['src', 'schemas', 'test/simulation', 'test/support', 'test/faults', 'package.json'])
        cpSync(join(ROOT, part), join(root, part), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
      const args = ['--seed', '55', '--schedules', '20'];
      // One of control is among them.
      const [here, there] = await Promise.all([simulate(args), simulate([...args, '--jobs', '2'], { root })]);
      expect(here.lines.at(-1)).toMatch(/^schedules 20, violations 0, trace [0-9a-f]{64}$/);
      expect(there.lines).toEqual(here.lines);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('are lost by kafkajs, which acknowledges what it did not write, and not by Hookline', LONG, async () => {
    const args = ['--first', '--plan', join(HERE, 'kafkajs-loses.json')];
    const [kafkajs, ours] = await Promise.all([simulate([...args, '--kafkajs']), simulate(args)]);
    expect(kafkajs.lines.join('\n')).toMatch(/acknowledged as kafka, is lost/);
    expect(kafkajs.code).toBe(1);
    expect(ours.lines.at(-1)).toMatch(/^schedules 1, violations 0,/);
  });
});

describe('mutants', () => {
  it.each(MUTANTS)('$name: changes the code as it is now', (mutant) => {
    expect(() => mutate(mutant, readFileSync(join(ROOT, 'src', mutant.file), 'utf8'))).not.toThrow();
  });
});
