import { Actor } from '../engine/simulation.ts';
import { type Begin, type FaultValues, type Kind, once } from '../fault-kinds/fault.ts';
import { KAFKA_KINDS } from '../fault-kinds/kafka-kinds.ts';
import { GROUP_CODES } from '../kafka/protocol.ts';
import type { AnswerFault } from '../kafka/serve-produce.ts';
import { PROVIDER_PORT, type ProviderFault } from '../provider/model-provider.ts';
import type { ControlPod } from './fleet.ts';
import { type ControlSite, type ControlSystem, PUBLIC_URL } from './site.ts';

/** Where faults happen. */
export type ControlScene = { readonly site: ControlSite; readonly pods: readonly ControlPod[] };
type BeginHere = Begin<ControlScene>;

/** Which pod a fault meets. */
const podOf = ({ pods }: ControlScene, { broker }: FaultValues) => pods[broker % pods.length] as ControlPod;

/** Of the answers to what consumers ask the group's coordinator. */
const ofGroup =
  (faultOf: (fault: FaultValues) => AnswerFault): BeginHere =>
  ({ site: { cluster } }, fault) => {
    const met = { fault: faultOf(fault), chance: fault.chance };
    for (const { id } of cluster.brokers) cluster.groupFaults.set(id, met);
    return () => {
      for (const { id } of cluster.brokers)
        if (cluster.groupFaults.get(id) === met) cluster.groupFaults.delete(id);
    };
  };

const ofProvider =
  (kind: ProviderFault['kind'], ms = 0): BeginHere =>
  ({ site: { provider } }, { chance, value }) => {
    const fault = { kind, chance, ms: value * ms };
    provider.fault = fault;
    return () => {
      if (provider.fault === fault) provider.fault = undefined;
    };
  };

/** What begins the parts of a fault. */
const FATE = new Actor('fault');

const GROUP_ERRORS = Object.values(GROUP_CODES).filter(
  (code) => code !== GROUP_CODES.NONE && code !== GROUP_CODES.MEMBER_ID_REQUIRED,
);
const groupError = ({ value, ms }: FaultValues): AnswerFault => {
  const code = GROUP_ERRORS[Math.floor(value * GROUP_ERRORS.length)] ?? GROUP_CODES.NOT_COORDINATOR;
  return { kind: 'error', code, appends: ms % 2 === 0 };
};

/** Between one machine of control and these ports. */
const parted =
  (portsOf: (scene: ControlScene) => readonly number[]): BeginHere =>
  (scene, fault) => {
    const { network } = scene.site;
    const { machine } = podOf(scene, fault);
    for (const port of portsOf(scene)) network.setPathFrom(machine, port, { isBlackHole: true });
    return () => {
      for (const port of portsOf(scene)) network.setPathFrom(machine, port, { isBlackHole: false });
    };
  };

const {
  'partitions-added': _partitions,
  'limit-lowered': _limit,
  'topics-refused': _refused,
  ...OF_BROKERS
} = KAFKA_KINDS;

export const CONTROL_KINDS = {
  ...OF_BROKERS,
  'group-answers-dropped': { most: 12_000, begin: ofGroup(() => ({ kind: 'drop' })) },
  'group-answers-swallowed': { most: 12_000, begin: ofGroup(() => ({ kind: 'swallow' })) },
  'group-answers-late': {
    most: 12_000,
    begin: ofGroup(({ value }) => ({ kind: 'delay', ms: 50 + value * 6_000 })),
  },
  'group-answers-errors': { most: 12_000, begin: ofGroup(groupError) },
  'provider-lost': { most: 12_000, begin: ofProvider('lost') },
  'provider-swallowed': { most: 8_000, begin: ofProvider('swallowed') },
  'provider-late': { most: 12_000, begin: ofProvider('late', 30_000) },
  'provider-forsaken': { most: 8_000, begin: ofProvider('forsaken', 20_000) },
  'provider-failed': { most: 15_000, begin: ofProvider('failed') },
  'provider-failed-after': { most: 12_000, begin: ofProvider('failed-after') },
  'provider-twice': { most: 8_000, begin: ofProvider('twice') },
  'provider-busy': { most: 12_000, begin: ofProvider('busy') },
  'provider-refuses': { most: 12_000, begin: ofProvider('refused') },
  'provider-changed-by-hand': {
    most: 0,
    begin: once(({ site: { provider } }, { value }) => provider.changeByHand(value, `${PUBLIC_URL}/`)),
  },
  'provider-forgets-tokens': { most: 0, begin: once(({ site }) => site.provider.forgetTokens()) },
  'provider-unavailable': {
    most: 20_000,
    begin: ({ site: { provider, network } }) => {
      provider.isUp = false;
      network.cut(PROVIDER_PORT);
      return () => {
        provider.isUp = true;
      };
    },
  },
  'provider-black-hole': {
    most: 12_000,
    begin: ({ site: { network } }) => {
      network.setPath(PROVIDER_PORT, { isBlackHole: true });
      return () => network.setPath(PROVIDER_PORT, { isBlackHole: false });
    },
  },
  'provider-slow-network': {
    most: 12_000,
    begin: ({ site: { network } }, { value }) => {
      network.setPath(PROVIDER_PORT, { extraMs: value * 9_000 });
      return () => network.setPath(PROVIDER_PORT, { extraMs: 0 });
    },
  },
  'parted-from-kafka': {
    most: 20_000,
    begin: parted(({ site: { cluster } }) => cluster.brokers.map(({ port }) => port)),
  },
  'parted-from-the-provider': { most: 20_000, begin: parted(() => [PROVIDER_PORT]) },
  crash: { most: 0, begin: once((scene, fault) => podOf(scene, fault).kill()) },
  'crash-at-an-effect': {
    most: 0,
    begin: once((scene, fault) => podOf(scene, fault).actor?.dieAfter(1 + Math.floor(fault.value ** 2 * 80))),
  },
  'crash-at-a-call': {
    most: 15_000,
    begin: (scene, fault) => {
      const { actor } = podOf(scene, fault);
      const { value, ms } = fault;
      const { begun } = scene.site;
      if (actor) begun.dieAtCall(actor, 1 + Math.floor(value * 6), 1 + (ms % 6));
      return () => begun.disarm();
    },
  },
  'rolling-restart': {
    most: 0,
    begin: once(({ pods, site: { simulation } }, { value }) => {
      for (const [n, pod] of pods.entries())
        simulation.after(n * value * 8_000, FATE, () => pod.restart(), { settles: false });
    }),
  },
  frozen: {
    most: 25_000,
    begin: once((scene, fault) => {
      const { actor } = podOf(scene, fault);
      if (actor) scene.site.simulation.freeze(actor, fault.ms);
    }),
  },
  'clock-jump': {
    most: 0,
    begin: once((scene, fault) => {
      const { actor } = podOf(scene, fault);
      if (actor) actor.wallSkew += (fault.value - 0.5) * 2 * 3_600_000;
    }),
  },
} satisfies Record<string, Kind<ControlScene, ControlSystem>>;

export type ControlFaultKind = keyof typeof CONTROL_KINDS;
