import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that need a real Kafka and registry: the flows, and files named *.stack.test.ts beside the units they test. */
const NEEDS_STACK = ['test/flows/**/*.test.ts', 'test/**/*.stack.test.ts', 'test/stack/*.test.ts'];

/** The short forms of `make faults`, `make control-faults` and `make hostile`: `make test-campaigns` runs them. */
const CAMPAIGNS = 'test/**/*.campaign.test.ts';

/** Tests on disks that fail: they need a C compiler and the right to mount. `make disk-faults` runs them. */
const NEEDS_COMPILER = 'test/faults/disk/**/*.test.ts';

/** Tests of the bench itself: they need wrk, which npm doesn't bring. `make test-bench` runs them. */
const NEEDS_WRK = 'test/bench/**/*.wrk.test.ts';

/** Tests of deploy/ by Helm and Prometheus' promtool: `make test-deploy` runs them. */
const NEEDS_TOOLS = 'test/deploy/**/*.tools.test.ts';

/** Control killed, the provider unavailable: `make control-faults` runs them, on a Kafka of their own. */
const TAKES_LONG = 'test/faults/control-*.test.ts';

/** Tests of the image and the chart on the cluster of KUBECONFIG: `make test-kubernetes` runs them. */
const NEEDS_CLUSTER = 'test/kubernetes/**/*.cluster.test.ts';

/** Tests of the image in a Docker engine: `make test-image` builds it and runs them. */
const NEEDS_ENGINE = 'test/deploy/**/*.image.test.ts';

/** Two builds of a release, and what verifies them, in a Docker engine: `make test-release`. */
const RELEASE = 'test/deploy/release/*.release.test.ts';

/** Each alert provoked, seen at a Prometheus that runs, and fixed by the runbook: `make night-drill`. */
const NIGHT = 'test/deploy/night/*.night.test.ts';

/** All of deploy/compose.yaml in a Docker engine: `make test-compose` builds the image and runs it. */
const NEEDS_COMPOSE = 'test/deploy/compose/*.compose.test.ts';

/** Bodies of 50 MB and an object store that fails: `make test-bodies`. */
const BODIES = 'test/faults/bodies/*.bodies.test.ts';

/** Ten minutes of load while sessions and tokens end: `make token-faults` runs it. */
const IDENTITY = 'test/faults/identity/*.identity.test.ts';

/** Data contracts, judged by datacontract-cli on a live Kafka: `make test-contracts`. */
const CONTRACTS = 'test/contracts/*.contracts.test.ts';

/** Other people's readers of Kafka and Avro, at their default settings: `make test-readers` fetches and runs them. */
const READERS = 'test/readers/*.readers.test.ts';

/** From one Kafka cluster to another with MirrorMaker, by docs/another-cluster.md: `make test-move`. */
const MOVE = 'test/move/*.move.test.ts';

/** The main flows on other versions of Kafka and of the registry, and brokers that are upgraded: `make test-clusters`. */
const CLUSTERS = 'test/clusters/*.clusters.test.ts';
const ON_OTHER_CLUSTERS = [
  CLUSTERS,
  'test/kafka/**/*.stack.test.ts',
  'test/cli/**/*.stack.test.ts',
  ...[
    'a-command-survives-faults-of-the-provider',
    'a-command-that-is-not-executed-says-why',
    'a-group-with-another-installation-is-told',
    'a-late-write-of-the-state-does-not-count',
    'a-probe-verifies-the-whole-way',
    'a-result-that-is-too-large-is-shortened',
    'a-secured-connection-to-the-brokers-works-or-says-why',
    'a-state-topic-that-is-created-anew-loses-no-subscription',
    'a-subscription-is-created-by-a-command',
    'an-event-in-kafka-is-what-was-delivered',
    'an-outage-of-kafka-without-a-spool-is-answered-503',
    'commands-that-are-deleted-unread-are-told',
    'dead-lettered-commands-are-redriven-on-request',
    'dead-letters-are-redriven',
    'inspect-shows-where-a-command-and-an-event-are',
    'large-bodies-are-stored-exact-to-the-byte',
    'retention-counts-from-the-clocks-of-the-brokers',
    'schemas-move-over-to-1-0-once',
    'the-acknowledgement-contract-holds',
    'the-cli-sets-up-and-checks-an-installation',
    'the-console-tells-and-resolves-what-happened',
    'the-spool-bridges-an-outage-of-kafka',
    'topics-that-can-lose-records-are-refused',
  ].map((flow) => `test/flows/${flow}.test.ts`),
];

/** The console's pages in Chromium, on a real Kafka: `make test-console`. */
const BROWSER = 'test/browser/*.browser.test.ts';

/** Files that take longest, those that take most first. */
const LONGEST = [
  'the-spool-bridges-an-outage-of-kafka',
  'analytics.stack',
  'a-secured-connection-to-the-brokers-works-or-says-why',
  'the-documentation-is-followed',
  'strimzi-rights.stack',
  'an-outage-of-kafka-without-a-spool-is-answered-503',
  'ledger.stack',
  'up-down',
];

/** They begin first: else one of them would run alone at the end, with a core idle. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return rank < 0 ? LONGEST.length : rank;
    };
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

/** For two cores: tests with a Kafka wait longer than they work. */
const WORKERS = 5;

/** As Node does it: what a CommonJS package exports is not unwrapped. */
const deps = { interopDefault: false };

export default defineConfig({
  test: {
    reporters: ['default', './test/support/name-failures.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...NEEDS_STACK,
            NEEDS_WRK,
            NEEDS_COMPILER,
            NEEDS_TOOLS,
            NEEDS_CLUSTER,
            TAKES_LONG,
            NEEDS_ENGINE,
            NIGHT,
            NEEDS_COMPOSE,
            CAMPAIGNS,
            BODIES,
            CONTRACTS,
            IDENTITY,
            READERS,
            RELEASE,
            MOVE,
            CLUSTERS,
            BROWSER,
          ],
          deps,
          // Files of a worker share what they import: half of the time would go into importing it anew for each.
          isolate: false,
          setupFiles: ['test/support/own-environment.ts'],
          testTimeout: 60_000,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: 'stack',
          include: NEEDS_STACK,
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          isolate: false,
          setupFiles: ['test/support/own-environment.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: 'campaigns',
          include: [CAMPAIGNS],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          isolate: false,
          setupFiles: ['test/support/own-environment.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'bench',
          include: [NEEDS_WRK],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'deploy',
          include: [NEEDS_TOOLS],
          globalSetup: ['test/support/tools/global-tools.ts'],
          deps,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'control',
          include: [TAKES_LONG],
          exclude: NEEDS_STACK,
          deps,
          testTimeout: 600_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'kubernetes',
          include: [NEEDS_CLUSTER],
          globalSetup: ['test/kubernetes/support/global-cluster.ts'],
          deps,
          testTimeout: 300_000,
          hookTimeout: 400_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'image',
          include: [NEEDS_ENGINE],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'release',
          include: [RELEASE],
          deps,
          testTimeout: 60_000,
          // Two images; the first run builds cosign and Syft.
          hookTimeout: 40 * 60_000,
        },
      },
      {
        test: {
          name: 'night',
          include: [NIGHT],
          globalSetup: ['test/support/global-stack.ts', 'test/support/tools/global-prometheus.ts'],
          deps,
          testTimeout: 600_000,
          hookTimeout: 180_000,
          // They wait more than they work.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'compose',
          include: [NEEDS_COMPOSE],
          deps,
          testTimeout: 300_000,
          hookTimeout: 20 * 60_000,
        },
      },
      {
        test: {
          name: 'bodies',
          include: [BODIES],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          testTimeout: 900_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'identity',
          include: [IDENTITY],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'contracts',
          include: [CONTRACTS],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          testTimeout: 120_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'browser',
          include: [BROWSER],
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'readers',
          include: [READERS],
          globalSetup: ['test/readers/records/global-records.ts'],
          deps,
          testTimeout: 60_000,
          // The first run fetches and builds the readers.
          hookTimeout: 30 * 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'move',
          include: [MOVE],
          deps,
          testTimeout: 120_000,
          // The first run fetches MirrorMaker.
          hookTimeout: 20 * 60_000,
        },
      },
      {
        test: {
          name: 'clusters',
          include: ON_OTHER_CLUSTERS,
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          isolate: false,
          setupFiles: ['test/support/own-environment.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: 'disk',
          include: [NEEDS_COMPILER],
          deps,
          testTimeout: 600_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
