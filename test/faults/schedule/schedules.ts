import type { Random } from '../random.ts';
import type { Step } from './steps.ts';

export type Schedule = {
  readonly name: string;
  /** What the reader of the table wants to know of it. */
  readonly about: string;
  /** Hookline gets a spool: then every valid webhook has to be answered 200. */
  readonly spool?: boolean;
  /** How many events a second are sent; as many as are taken, where it isn't given. */
  readonly perSecond?: number;
  /** The steps, chosen by the seed's random numbers; `scale` 1 is the long form. */
  readonly plan: (random: Random, scale: number) => Step[];
};

/** Seconds, shorter where the run is. */
const scaled = (seconds: number, scale: number) => Math.max(1, Math.round(seconds * scale));
const times = <T>(count: number, scale: number, make: (n: number) => T) =>
  Array.from({ length: Math.max(1, Math.round(count * scale)) }, (_, n) => make(n));
const anyBroker = (random: Random) => random.between(0, 2);

export const SCHEDULES: readonly Schedule[] = [
  {
    name: 'dropped-responses',
    about: 'connections break instead of 1, 4 and 10 % of the Produce responses',
    plan: (_, scale) =>
      [1, 4, 10].map((percent) => ({
        do: 'lose-responses',
        fault: { kind: 'drop', percent },
        seconds: scaled(75, scale),
      })),
  },
  {
    name: 'swallowed-responses',
    about: '1 % of the Produce responses never come, then 1 % come 5 s late',
    plan: (_, scale) => [
      { do: 'lose-responses', fault: { kind: 'swallow', percent: 1 }, seconds: scaled(30, scale) },
      {
        do: 'lose-responses',
        fault: { kind: 'delay', percent: 1, delayMs: 5_000 },
        seconds: scaled(30, scale),
      },
    ],
  },
  {
    name: 'broker-killed',
    about: 'SIGKILL of one broker after the other, each back after some seconds',
    plan: (random, scale) =>
      times(3, scale, (): Step[] => [
        { do: 'calm', seconds: scaled(5, scale) },
        { do: 'kill', broker: anyBroker(random), seconds: scaled(random.between(8, 16), scale) },
        { do: 'whole' },
      ]).flat(),
  },
  {
    name: 'broker-frozen',
    about: 'SIGSTOP of a broker for 25 s, then SIGCONT',
    plan: (random, scale) => [
      { do: 'calm', seconds: scaled(5, scale) },
      { do: 'freeze', broker: anyBroker(random), seconds: scaled(25, scale) },
      { do: 'whole' },
      { do: 'calm', seconds: scaled(5, scale) },
    ],
  },
  {
    name: 'all-down',
    about: 'SIGKILL of all brokers for 30 to 60 s',
    plan: (random, scale) => [
      { do: 'calm', seconds: scaled(5, scale) },
      { do: 'all-down', seconds: scaled(random.between(30, 60), scale) },
    ],
  },
  {
    name: 'leaders-moved',
    about: 'every partition gets another leader, again and again',
    plan: (_, scale) =>
      times(8, scale, (n): Step[] => [
        { do: 'move-leaders', turn: n + 1 },
        { do: 'calm', seconds: 4 },
      ]).flat(),
  },
  {
    name: 'slow-network',
    about: '20 to 120 ms more on each way, cuts and black holes',
    plan: (random, scale) =>
      times(4, scale, (): Step[] => [
        { do: 'slow', latencyMs: random.between(20, 120), seconds: scaled(8, scale) },
        { do: 'cut', broker: anyBroker(random) },
        { do: 'blackhole', broker: anyBroker(random), seconds: scaled(random.between(2, 8), scale) },
        { do: 'calm', seconds: 2 },
      ]).flat(),
  },
  {
    name: 'combined',
    about: 'a random row of all of these',
    plan: (random, scale) => times(12, scale, () => [randomStep(random, scale), randomCalm(random)]).flat(),
  },
  {
    name: 'spool-all-down',
    about: 'all brokers down for 60 s, 500 events a second, with a spool',
    spool: true,
    perSecond: 500,
    plan: (_, scale) => [
      { do: 'calm', seconds: scaled(20, scale) },
      { do: 'all-down', seconds: scaled(60, scale) },
    ],
  },
  {
    name: 'spool-combined',
    about: 'a random row of all of these, with a spool',
    spool: true,
    perSecond: 500,
    plan: (random, scale) => times(8, scale, () => [randomStep(random, scale), randomCalm(random)]).flat(),
  },
];

const randomCalm = (random: Random): Step => ({ do: 'calm', seconds: random.between(1, 3) });

function randomStep(random: Random, scale: number): Step {
  const broker = anyBroker(random);
  const seconds = scaled(random.between(3, 12), scale);
  return random.pick<Step>([
    { do: 'lose-responses', fault: { kind: 'drop', percent: random.between(1, 10) }, seconds },
    { do: 'lose-responses', fault: { kind: 'swallow', percent: 1 }, seconds },
    { do: 'cut', broker },
    { do: 'blackhole', broker, seconds },
    { do: 'slow', latencyMs: random.between(5, 80), seconds },
    { do: 'kill', broker, seconds },
    { do: 'freeze', broker, seconds: seconds + scaled(10, scale) },
    { do: 'move-leaders', turn: random.between(1, 5) },
  ]);
}
