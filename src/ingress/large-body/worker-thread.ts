/**
 * The thread for large bodies: all that takes long about one is done here, with a Kafka client of its own. It runs the
 * very flow that small bodies take.
 */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { readEventSchemas } from '../../avro/event-schema.ts';
import { readSchemaFiles } from '../../avro/schema-files.ts';
import { restoreVerified, type VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import { createEventRoutes } from '../../delivery/event-routes.ts';
import { openDelivery } from '../../delivery/open-delivery.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { deliveryIdOf, publishDelivery } from '../../delivery/publish-delivery.ts';
import { layInPlace } from '../../kafka/connect/client-patches.ts';
import { openKafka, openPublisher } from '../../kafka/open-kafka.ts';
import { systemClock } from '../../runtime/clock.ts';
import { ReusedMemory } from './kept-memory.ts';
import type { Job, JobResult, Observations, WorkerMessage, WorkerOptions } from './lane-messages.ts';

/** A hundred megabytes take their time on a slow way: the outcome of an attempt counts as unknown later than with small records. */
const PATIENCE = { requestMs: 10_000, attemptMs: 12_000 };

lowerPriority();
const port = parentPort;
if (!port) throw new TypeError('this file is the program of a worker thread');
const options = workerData as WorkerOptions;
const post = (message: WorkerMessage) => port.postMessage(message);

const schemas = readEventSchemas(readSchemaFiles(options.schemasDir, 'events'));
const routes = createEventRoutes(schemas, options.topicPrefix, {
  of: ({ file }) => options.schemaIds.get(file) as number,
});
const kafka = openKafka({
  settings: options.kafka,
  // The main thread reads the same files, and logs what is wrong with them.
  files: { renewed() {}, unusable() {} },
  clock: systemClock,
  clientId: 'hookline-ingress-large',
  log() {},
  requestTimeoutMs: PATIENCE.requestMs,
});
/** Attempts of this thread that were not confirmed. */
let failures = 0;
const memory = new ReusedMemory();
const opened = openDelivery({
  ...{ routes, memory, prefix: options.topicPrefix, layout: options.layout },
  // Those of a job come with it, as does whoever observes it.
  encryptionKeysOf: () => [],
  observer: { keyMatched() {}, drift() {}, unclassified() {}, deadLettered() {} },
  openPublisher: (topics) =>
    openPublisher(kafka, topics, {
      // What is here has been admitted by its bytes before.
      backlogBytes: Number.POSITIVE_INFINITY,
      attemptMs: PATIENCE.attemptMs,
      observer: {
        attempt(outcome) {
          if (outcome !== 'confirmed') failures++;
          post({ kind: 'attempt', outcome });
        },
        confirmed: (seconds) => post({ kind: 'confirmed', seconds }),
        sessionOpened: () => post({ kind: 'session' }),
        // The main thread's publisher checks the same topics, and logs it.
        troubleChanged() {},
      },
    }),
});
const { publisher } = opened;
const limitsKnown = opened.limits.renew();
port.on('message', (job: Job) => void work(job));

async function work(job: Job): Promise<void> {
  const seen: Observations = { matched: [], drift: new Map(), deadLettered: [], unclassified: 0 };
  const body = Buffer.from(job.body.buffer, job.body.byteOffset, job.body.byteLength);
  const delivery = restoreVerified({ ...job.delivery, body });
  try {
    const end = await runJob(job, delivery, partsOf(job, seen));
    post({ kind: 'end', n: job.n, observations: seen, ...end });
  } catch (error) {
    post({ kind: 'end', n: job.n, observations: seen, fault: faultOf(error) });
  } finally {
    // Where it was a copy: shared memory is not ours to give.
    releaseBytes(body);
  }
}

async function runJob(
  job: Job,
  delivery: VerifiedDelivery,
  parts: DeliveryPorts,
): Promise<Pick<JobResult, 'receipt' | 'eventId'>> {
  if (job.kind === 'identify') return { eventId: deliveryIdOf(delivery, parts) };
  await limitsKnown;
  return { receipt: await publishDelivery(delivery, parts) };
}

function partsOf({ keys, deadlineMs }: Job, seen: Observations): DeliveryPorts {
  return {
    ...opened.ports,
    encryptionKeysOf: () => keys,
    async publish(record) {
      if (record.topic === opened.ports.deadLetterTopic) {
        // It is a piece of the body, which is no longer ours when the job has ended: an attempt may take longer.
        const value = record.value && Buffer.from(record.value);
        return publisher.publish({ ...record, value }, deadlineMs);
      }
      const before = failures;
      if (record.value) layInPlace(record.value, memory.room);
      const position = await publisher.publish(record, deadlineMs);
      // Only then: what was given up, or sent again, may still be under way over another connection.
      if (record.value && failures === before) memory.give(record.value);
      return position;
    },
    observer: {
      keyMatched: (_, __, index) => void seen.matched.push(index),
      drift(topic, field) {
        const known = seen.drift.get(`${topic} ${field}`) ?? { topic, field, count: 0 };
        known.count++;
        seen.drift.set(`${topic} ${field}`, known);
      },
      unclassified: () => void seen.unclassified++,
      deadLettered: (stage) => void seen.deadLettered.push(stage),
    },
  };
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

/** Errors without a code are described by their stack: it says where, and never quotes a body. */
function faultOf(error: unknown): NonNullable<JobResult['fault']> {
  if (error instanceof HooklineError) return { code: error.code, detail: error.detail };
  return { code: 'INTERNAL', detail: undefined, cause: error instanceof Error ? String(error.stack) : '' };
}
