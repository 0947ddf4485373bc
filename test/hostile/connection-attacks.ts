import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../stack/wait-until.ts';
import type { Attack, AttackContext, AttackOutcome, Scale } from './attack.ts';
import type { AttackPlan, AttackSeen } from './attackers/plan.ts';
import { startAttackers } from './attackers/start-attackers.ts';
import { base64, type HeadOptions, headOf, KNOWN_REF, signedRequest, UNKNOWN_REF } from './requests.ts';

const MB = 1_000_000;
/** An attack of a fixed count takes no longer. */
const COUNT_DEADLINE_MS = 60_000;

type PlanOf<K> = Omit<Extract<AttackPlan, { kind: K }>, 'port'>;

const noteOf = ({ opened, closed, answers }: AttackSeen) => {
  const told = Object.entries(answers).map(([status, count]) => `${count} × ${status}`);
  return [`${opened} connections`, `${closed} closed`, ...told].join(', ');
};

/** Attacks for the scale's time, or until its count is reached. */
async function attackWith(
  { target, scale }: AttackContext,
  plan: PlanOf<AttackPlan['kind']>,
): Promise<AttackOutcome> {
  await using attackers = startAttackers({ ...plan, port: target.port } as AttackPlan);
  await attackers.begun;
  const counted = plan.kind === 'reset' || plan.kind === 'cut-off';
  await (counted ? withDeadline(attackers.done, COUNT_DEADLINE_MS, null) : sleep(scale.seconds * 1_000));
  const seen = await attackers.stop();
  // An attack that did not reach the ingress proves nothing.
  const least = 'count' in plan ? Number(plan.count) : plan.connections;
  const problems =
    seen.opened < least * 0.9 ? [`only ${seen.opened} of ${least} connections came about`] : [];
  return { note: noteOf(seen), problems };
}

type Variant = { readonly name: string; readonly what: string; readonly head: HeadOptions };

const VARIANTS: readonly Variant[] = [
  { name: 'known', what: 'known ref, signature of the right form', head: { ref: KNOWN_REF } },
  { name: 'unknown', what: 'unknown ref, signature of the right form', head: { ref: UNKNOWN_REF } },
  { name: 'unsigned', what: 'known ref, no signature', head: { signature: '' } },
];

const IDLE_KINDS = [
  { name: 'chunked', what: 'chunked, one byte', headers: ['Transfer-Encoding: chunked'], rest: '1\r\nx\r\n' },
  { name: '1mb', what: '1 MB declared, one byte', headers: [`Content-Length: ${MB}`], rest: '{' },
  { name: '50mb', what: '50 MB declared, one byte', headers: [`Content-Length: ${50 * MB}`], rest: '{' },
  {
    name: 'continue',
    what: '50 MB declared, Expect: 100-continue',
    headers: [`Content-Length: ${50 * MB}`, 'Expect: 100-continue'],
    rest: '',
  },
] as const;

const idle = (name: string, what: string, first: string, more: Partial<Attack> = {}): Attack => ({
  name: `idle-${name}`,
  what: `idle connections: ${what}`,
  short: true,
  run: (context) =>
    attackWith(context, {
      kind: 'hold',
      first: base64(first),
      bytesPerSecond: 0,
      connections: context.scale.idleConnections,
    } as PlanOf<'hold'>),
  ...more,
});

const WRONG_REQUEST = `${headOf({ headers: ['Content-Length: 2'] })}{}`;

/** The first bytes of a TLS 1.2 record with a ClientHello of 512 bytes that never comes whole. */
const HALF_HANDSHAKE = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03';

const idleAttacks: readonly Attack[] = [
  idle('silent', 'not a byte', ''),
  idle('half-head', 'half a head', headOf({}).slice(0, 60)),
  idle('half-handshake', 'half a TLS handshake', HALF_HANDSHAKE, { isTls: true }),
  ...IDLE_KINDS.flatMap((kind) =>
    VARIANTS.map((variant) =>
      idle(
        `${kind.name}-${variant.name}`,
        `${kind.what}; ${variant.what}`,
        headOf({ ...variant.head, headers: kind.headers }) + kind.rest,
        { short: variant.name === 'known' },
      ),
    ),
  ),
  // The answer to the first request is no proof: the body behind it is a stranger's as the first was.
  idle(
    'behind-request',
    'a small request with a wrong signature, right behind it 50 MB declared, one byte',
    `${WRONG_REQUEST}${headOf({ headers: [`Content-Length: ${50 * MB}`] })}{`,
  ),
];

/** Bytes a second of a body: the least that is allowed is 240. */
const SLOW_RATES = { below: 200, above: 280 } as const;

const slowAttacks: readonly Attack[] = (['below', 'above'] as const).flatMap((rate) =>
  ([1, 50] as const).map(
    (megabytes): Attack => ({
      name: `slow-${rate}-${megabytes}mb`,
      what: `slow bodies just ${rate} the minimum rate, ${megabytes} MB declared`,
      short: megabytes === 50 && rate === 'above',
      run: (context) =>
        attackWith(context, {
          kind: 'hold',
          connections: context.scale.slowConnections,
          first: base64(headOf({ headers: [`Content-Length: ${megabytes * MB}`] })),
          bytesPerSecond: SLOW_RATES[rate],
        } as PlanOf<'hold'>),
    }),
  ),
);

/** Bytes: of the memory for large bodies that ingress has by default. */
const TWELFTH = 51_729_749;

/** 60,000 chunks of one byte. */
const FRAGMENTS = `${headOf({ headers: ['Transfer-Encoding: chunked'] })}${'1\r\n{\r\n'.repeat(60_000)}`;

const holdingAttacks: readonly Attack[] = [
  {
    name: 'fragments',
    what: 'bodies in chunks of one byte, each second anew',
    plan: { connections: 24, first: FRAGMENTS, bytesPerSecond: 0, reopenMs: 1_000 },
  },
  {
    name: 'hogs',
    what: 'bodies just not slow, a twelfth of the memory for large bodies declared',
    plan: {
      connections: 13,
      first: headOf({ headers: [`Content-Length: ${TWELFTH}`] }),
      bytesPerSecond: 700_000,
    },
  },
].map(
  ({ name, what, plan }): Attack => ({
    name,
    what,
    short: true,
    run: (context) =>
      attackWith(context, { kind: 'hold', ...plan, first: base64(plan.first) } as PlanOf<'hold'>),
  }),
);

/** Each has sent a part of its body at once, and waits for its turn to be read. */
const crowdAttacks: readonly Attack[] = VARIANTS.map(
  (variant): Attack => ({
    name: `crowd-${variant.name}`,
    what: `thousands of connections at once, 300 KB of 1 MB each; ${variant.what}`,
    short: variant.name === 'unknown',
    isUntimed: true,
    run: (context) =>
      attackWith(context, {
        kind: 'hold',
        connections: context.scale.crowdConnections,
        first: base64(
          `${headOf({ ...variant.head, headers: [`Content-Length: ${MB}`] })}${' '.repeat(300_000)}`,
        ),
        bytesPerSecond: 0,
      } as PlanOf<'hold'>),
  }),
);

const floodAttacks: readonly Attack[] = [
  { name: 'small', what: 'small bodies', bytes: 600 },
  { name: '1mb', what: 'bodies of 1 MB', bytes: MB },
  { name: '50mb', what: 'bodies of 50 MB', bytes: 50 * MB },
].map(
  ({ name, what, bytes }): Attack => ({
    name: `flood-${name}`,
    what: `wrong signatures at full speed: ${what}`,
    short: true,
    logLines: 20,
    run: (context) =>
      attackWith(context, {
        kind: 'flood',
        connections: context.scale.floodConnections,
        head: base64(headOf({ headers: [`Content-Length: ${bytes}`] })),
        bodyBytes: bytes,
      } as PlanOf<'flood'>),
  }),
);

/** With a filter the address of each connection is asked for, which one that was reset no longer has. */
const withFilter = () => ({ ALLOWED_SOURCES: '127.0.0.0/8' });

const endAttacks: readonly Attack[] = [
  { name: 'resets', what: 'requests reset at once', env: undefined },
  { name: 'resets-filtered', what: 'requests reset at once, with ALLOWED_SOURCES', env: withFilter },
].map(
  ({ name, what, env }): Attack => ({
    name,
    what,
    short: true,
    logLines: 20,
    ...(env && { env }),
    run: (context) =>
      attackWith(context, {
        kind: 'reset',
        connections: 100,
        count: context.scale.resets,
        first: base64(headOf({ headers: ['Content-Length: 600'] }) + '{'.repeat(600)),
      } as PlanOf<'reset'>),
  }),
);

const otherAttacks: readonly Attack[] = [
  {
    name: 'cut-off',
    what: 'bodies cut off by the end of the connection',
    short: true,
    logLines: 20,
    run: (context) =>
      attackWith(context, {
        kind: 'cut-off',
        connections: 100,
        count: context.scale.resets,
        first: base64(`${headOf({ headers: [`Content-Length: ${MB}`] })}{"half":`),
      } as PlanOf<'cut-off'>),
  },
  ...[
    { name: 'pipeline-signed', what: 'valid requests', request: signedRequest(0) },
    {
      name: 'pipeline-wrong',
      what: 'wrong signatures',
      request: WRONG_REQUEST,
    },
  ].map(
    ({ name, what, request }): Attack => ({
      name,
      what: `${what} in a pipeline, no answer ever read`,
      short: true,
      run: (context) =>
        attackWith(context, {
          kind: 'deaf',
          connections: context.scale.deafConnections,
          request: base64(request),
        } as PlanOf<'deaf'>),
    }),
  ),
  {
    name: 'max-connections',
    what: 'more idle connections than MAX_CONNECTIONS',
    env: ({ maxConnections }: Scale) => ({ MAX_CONNECTIONS: String(maxConnections) }),
    short: true,
    run: (context) =>
      attackWith(context, {
        kind: 'hold',
        connections: context.scale.maxConnections + context.scale.overMaxConnections,
        first: base64(headOf({}).slice(0, 60)),
        bytesPerSecond: 0,
      } as PlanOf<'hold'>),
  },
];

export const CONNECTION_ATTACKS: readonly Attack[] = [
  {
    name: 'none',
    what: 'no attack: the machine itself',
    short: false,
    run: async ({ scale }) => {
      await sleep(scale.seconds * 1_000);
      return { note: '', problems: [] };
    },
  },
  ...idleAttacks,
  ...slowAttacks,
  ...holdingAttacks,
  ...crowdAttacks,
  ...floodAttacks,
  ...endAttacks,
  ...otherAttacks,
];
