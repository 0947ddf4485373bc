import { setTimeout as sleep } from 'node:timers/promises';
import { SUBSCRIPTION } from '../bench/load/bodies.ts';
import type { Fixture } from '../support/topics-fixture.ts';
import type { Attack, Row, Scale } from './attack.ts';
import { type HonestResult, startHonestStream } from './honest/honest-stream.ts';
import { Target } from './target.ts';

export type Tls = { readonly caFile: string; readonly env: Readonly<Record<string, string>> };

export type AttackParts = { readonly fixture: Fixture; readonly tls: Tls; readonly scale: Scale };

/** An attack on an ingress of its own. */
export async function runAttack(attack: Attack, parts: AttackParts): Promise<Row> {
  const env = { ...attack.env?.(parts.scale), ...(attack.isTls && parts.tls.env) };
  await using target = await Target.start({ fixture: parts.fixture, env });
  return await attackTarget(attack, target, parts);
}

/** An attack, honest senders beside it from the same address. */
export async function attackTarget(attack: Attack, target: Target, parts: AttackParts): Promise<Row> {
  const { fixture, tls, scale } = parts;
  const began = performance.now();
  const honest = () =>
    startHonestStream({
      url: `${target.origin}/webhooks/${SUBSCRIPTION.ref}`,
      caFile: attack.isTls ? tls.caFile : undefined,
      ...scale.honest,
      ...(attack.smallOnly && { largePerSecond: 0 }),
    });
  const endWarmUp = honest();
  await sleep(scale.warmUpMs);
  const usual = await endWarmUp();
  const before = await stateOf(target);
  const endHonest = honest();
  const outcome = await attack.run({ target, fixture, scale });
  const seen = await endHonest();
  const problems = [
    ...outcome.problems,
    ...honestProblems(seen, attack.isUntimed ? UNTIMED : longestBeside(usual, scale)),
    ...(await ownProblems(target, before)),
  ];
  const lines = target.process.lines.length - before.lines;
  if (attack.logLines !== undefined && lines > attack.logLines) {
    problems.push(`${lines} log lines, at most ${attack.logLines} are allowed`);
  }
  const peakMib = target.peakMib();
  if (peakMib !== null && peakMib > scale.peakMib) {
    problems.push(`peak memory ${Math.round(peakMib)} MiB, at most ${scale.peakMib} are allowed`);
  }
  const { name, what } = attack;
  const seconds = (performance.now() - began) / 1_000;
  return { name, what, honest: seen, peakMib, note: outcome.note, problems, seconds };
}

const UNTIMED: Scale['longestMs'] = { small: Number.POSITIVE_INFINITY, large: Number.POSITIVE_INFINITY };

/** Where other work saturates the machine answers are late without an attack, too. */
const TIMES_USUAL = 3;

function longestBeside(usual: HonestResult, { longestMs }: Scale): Scale['longestMs'] {
  const of = (name: 'small' | 'large') => Math.max(longestMs[name], TIMES_USUAL * usual[name].longest);
  return { small: of('small'), large: of('large') };
}

function honestProblems(seen: HonestResult, longestMs: Scale['longestMs']): string[] {
  return (['small', 'large'] as const).flatMap((name) => {
    const { notTaken, longest } = seen[name];
    const answers = Object.entries(notTaken).map(([answer, count]) => `${count} × ${answer}`);
    return [
      ...(answers.length > 0 ? [`honest ${name} webhooks not taken: ${answers.join(', ')}`] : []),
      ...(longest >= longestMs[name]
        ? [`longest answer to a ${name} honest webhook ${(longest / 1_000).toFixed(1)} s`]
        : []),
    ];
  });
}

type State = { readonly lines: number; readonly errors: number; readonly internal: number };

async function stateOf(target: Target): Promise<State> {
  const { lines, errors } = target.process;
  const { INTERNAL = 0 } = await target.refusals();
  return { lines: lines.length, errors: errors.length, internal: INTERNAL };
}

/** An ingress that ended, or met an error that it has no name for. */
async function ownProblems(target: Target, before: State): Promise<string[]> {
  const { process } = target;
  if (process.exitCode !== null) return [`ingress ended with ${process.exitCode}`];
  const internal = (await stateOf(target)).internal - before.internal;
  const failure = process.lines
    .slice(before.lines)
    .find(({ level }) => level === 'error' || level === 'fatal');
  const error = process.errors[before.errors];
  return [
    ...(internal > 0 ? [`${internal} refusals counted as INTERNAL`] : []),
    ...(failure ? [`logged as an error: ${failure.msg}`] : []),
    ...(error !== undefined ? [`written to standard error: ${error}`] : []),
  ];
}
