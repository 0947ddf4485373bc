/**
 * The thread for large bodies: all that takes long about one is done here, with a Kafka client of its own. It runs the
 * very flow that small bodies take.
 */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { TooLong } from '../../avro/avro-writer.ts';
import { readEventSchemas } from '../../avro/event-schema.ts';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { restoreVerified, type VerifiedDelivery } from '../../core/delivery.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import { ClaimCheck, objectFirst } from '../../delivery/claim-check.ts';
import { createEventRoutes } from '../../delivery/event-routes.ts';
import { openDelivery, watchLimits } from '../../delivery/open-delivery.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { identifyDelivery, publishDelivery, UNOBSERVED_DELIVERIES } from '../../delivery/publish-delivery.ts';
import { layInPlace } from '../../kafka/connect/client-patches.ts';
import { LARGE_RECORDS, openKafka, openPublisher } from '../../kafka/open-kafka.ts';
import { openBodyStore } from '../../object-store/open-body-store.ts';
import { systemClock } from '../../runtime/clock.ts';
import { openCallPort, toError, toFault } from '../../runtime/worker-calls.ts';
import { createHandedTokens } from '../../tokens/handed-tokens.ts';
import { ReusedMemory } from './reused-memory.ts';
import type {
  Job,
  JobResult,
  Observations,
  TokenJob,
  WorkerEvent,
  WorkerOptions,
} from './worker-messages.ts';

lowerPriority();
const port = openCallPort<Job | TokenJob, JobResult, WorkerEvent>();
const options = workerData as WorkerOptions;

const schemas = readEventSchemas(options.schemaFiles);
const routes = createEventRoutes(schemas, options.topicPrefix, {
  of: ({ file }) => options.schemaIds.get(file) as number,
});
/** The main thread's: it obtains them once for the process. */
const tokens = createHandedTokens((token) => port.emit({ kind: 'token-rejected', token }));
const kafka = openKafka({
  settings: options.kafka,
  // The main thread reads the same files, and logs what is wrong with them.
  files: UNOBSERVED_FILES,
  clock: systemClock,
  clientId: 'hookline-ingress-large',
  log() {},
  requestTimeoutMs: LARGE_RECORDS.requestMs,
  tokens,
});
/** Attempts of this thread that were not confirmed. */
let failures = 0;
const memory = new ReusedMemory();
const bodies = await openBodyStore(options.bodyStore, {
  // The main thread has one client more, which counts these writes too: it decides, and each job brings what it decided.
  isGuarded: true,
  attempts: options.bodyStoreAttempts,
  files: UNOBSERVED_FILES,
  clock: systemClock,
  observer: {
    written: (outcome, seconds, error) =>
      port.emit({ kind: 'object', outcome, seconds, fault: error && toFault(error) }),
    troubleChanged() {},
  },
});
const opened = openDelivery({
  routes,
  memory,
  prefix: options.topicPrefix,
  layout: options.layout,
  // The keys of a job come with it, and its observations go back with its result.
  encryptionKeysOf: () => [],
  observer: UNOBSERVED_DELIVERIES,
  claims: bodies && new ClaimCheck(bodies, options.bodyStore.claimCheckBytes),
  openPublisher: (topics) =>
    openPublisher(kafka, topics, {
      // What is here has been admitted by its bytes before.
      backlogBytes: Number.POSITIVE_INFINITY,
      attemptMs: LARGE_RECORDS.attemptMs,
      observer: {
        attempt(outcome) {
          if (outcome !== 'confirmed') failures++;
          port.emit({ kind: 'attempt', outcome });
        },
        confirmed: (seconds) => port.emit({ kind: 'confirmed', seconds }),
        sessionOpened: () => port.emit({ kind: 'session' }),
        // The main thread's publisher checks the same topics, and logs it; what only befalls this one is in its failures.
        troubleChanged() {},
      },
    }),
});
const { publisher } = opened;
const limitsKnown = watchLimits(opened.limits, systemClock);
port.onCalls((calls) => {
  for (const { n, request } of calls) void work(n, request);
});

async function work(n: number, job: Job | TokenJob): Promise<void> {
  tokens.hand(job.kafkaToken);
  const observations: Observations = { matched: [], drift: new Map(), deadLettered: [], unclassified: 0 };
  if (job.kind === 'token') return port.answer([{ n, result: { observations } }]);
  const body = Buffer.from(job.body.buffer, job.body.byteOffset, job.body.byteLength);
  const delivery = restoreVerified({ ...job.delivery, body });
  try {
    const done = await runJob(job, delivery, portsOf(job, observations));
    port.answer([{ n, result: { observations, ...done } }]);
  } catch (error) {
    // The main thread may still reach the brokers over connections of before a password was changed, say: only this one knows why.
    const fault = () => toFault(publisher.explain(error));
    const failed = error instanceof TooLong ? { isTooLong: true } : { fault: fault() };
    port.answer([{ n, result: { observations, ...failed } }]);
  } finally {
    // Where it was a copy: shared memory is not ours to give.
    releaseBytes(body);
  }
}

async function runJob(
  job: Job,
  delivery: VerifiedDelivery,
  parts: DeliveryPorts,
): Promise<Pick<JobResult, 'receipt' | 'identity'>> {
  if (job.kind === 'identify') {
    const identity = identifyDelivery(delivery, parts);
    // It goes to the spool: for that it is copied.
    memory.clear();
    return { identity };
  }
  await limitsKnown;
  return { receipt: await publishDelivery(delivery, parts) };
}

function portsOf(
  { keys, bodySealing, deadlineMs, recordRoom, storeFault }: Job,
  observations: Observations,
): DeliveryPorts {
  const publish = objectFirst(opened.ports.claims, (record) => send(record, deadlineMs));
  return {
    ...opened.ports,
    encryptionKeysOf: () => keys,
    bodySealing,
    recordRoom,
    publish: async (record, object) => {
      if (object && storeFault) throw toError(storeFault);
      return publish(record, object);
    },
    observer: {
      keyMatched: (_, __, index) => void observations.matched.push(index),
      drift(topic, field, count = 1) {
        const known = observations.drift.get(`${topic} ${field}`) ?? { topic, field, count: 0 };
        known.count += count;
        observations.drift.set(`${topic} ${field}`, known);
      },
      unclassified: () => void observations.unclassified++,
      deadLettered: (stage) => void observations.deadLettered.push(stage),
    },
  };
}

async function send(record: OutgoingRecord, deadlineMs: number): Promise<Position> {
  if (record.topic === opened.ports.deadLetterTopic) {
    // It is a piece of the body, which is no longer ours when the job has ended: an attempt may take longer.
    const value = record.value && Buffer.from(record.value);
    return publisher.publish({ ...record, value }, deadlineMs);
  }
  const before = failures;
  // A small record, of an event whose message is in the object store, may be cut from memory that others share.
  if (record.value && memory.owns(record.value)) layInPlace(record.value, memory.headroom);
  const position = await publisher.publish(record, deadlineMs);
  // Only then: what was given up, or sent again, may still be under way over another connection.
  if (record.value && failures === before) memory.give(record.value);
  return position;
}

/** Small bodies go first: where cores are short this thread gets what the main thread leaves. Possible on Linux only. */
function lowerPriority(): void {
  const LOWER = 10;
  try {
    const [, threadId = ''] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
    if (threadId !== '') setPriority(Number(threadId), LOWER);
  } catch {
    // Elsewhere it has the priority of the process.
  }
}
