import kafkajs from 'kafkajs';
import { describeConfigs } from './describe-topics.ts';

const MIB = 1024 * 1024;

/** A Produce request is larger than its record: it has headers, names and numbers too. */
const REQUEST_OVERHEAD_BYTES = 64 * 1024;

/** Limits of hosted clusters, largest first: 20 MiB and 8 MiB are those of Confluent Cloud. */
const USUAL_LIMITS = [20 * MIB, 8 * MIB, 2 * MIB];

const REQUEST_LIMIT = 'socket.request.max.bytes';
const DEFAULT_LIMIT = 'message.max.bytes';

/** The limit, and why it is lower than wanted. */
export type RecordLimit = {
  /** undefined: the cluster refuses every value, and its default stays. */
  readonly bytes: number | undefined;
  readonly why: string | undefined;
};

/**
 * The largest max.message.bytes, up to `wanted`, that the cluster allows: at most what its brokers read in one request,
 * and what its policy accepts, which only an attempt shows.
 * @param validate makes the cluster validate a value, or none, without a change; rejects if the cluster refuses it
 */
export async function allowedRecordBytes(
  admin: kafkajs.Admin,
  wanted: number,
  validate: (bytes: number | undefined) => Promise<unknown>,
): Promise<RecordLimit> {
  const reported = await reportedLimits(admin);
  const maxPerRequest = (reported.request ?? Number.POSITIVE_INFINITY) - REQUEST_OVERHEAD_BYTES;
  const first = Math.min(wanted, maxPerRequest);
  const lowerThan = (bytes: number) =>
    [reported.usual ?? 0, ...USUAL_LIMITS].filter((one) => one > 0 && one < bytes);
  const tries = [first, ...lowerThan(first).toSorted((one, other) => other - one)];
  for (const bytes of tries) {
    if (await isRefused(validate(bytes))) continue;
    if (bytes === wanted) return { bytes, why: undefined };
    const why =
      bytes === first ? `the brokers' ${REQUEST_LIMIT} allows no more` : "the cluster's policy refuses more";
    return { bytes, why };
  }
  // Refused without a value too: the cause is something else, which `apply` will report.
  if (await isRefused(validate(undefined))) return { bytes: first, why: undefined };
  return { bytes: undefined, why: "the cluster's policy refuses every value that was tried" };
}

/** The smallest values that the brokers report; none if they do not report them, or deny the request. */
async function reportedLimits(admin: kafkajs.Admin): Promise<{ request?: number; usual?: number }> {
  try {
    const { brokers } = await admin.describeCluster();
    const type = kafkajs.ConfigResourceTypes.BROKER;
    const names = brokers.map(({ nodeId }) => String(nodeId));
    const configs = await describeConfigs(admin, names, [REQUEST_LIMIT, DEFAULT_LIMIT], { type });
    const smallest = (setting: string) => {
      const values = [...configs.values()].map((config) => Number(config.get(setting)));
      return values.length > 0 && values.every((value) => value > 0) ? Math.min(...values) : undefined;
    };
    const request = smallest(REQUEST_LIMIT);
    const usual = smallest(DEFAULT_LIMIT);
    return { ...(request && { request }), ...(usual && { usual }) };
  } catch {
    return {};
  }
}

const REFUSALS = ['POLICY_VIOLATION', 'INVALID_CONFIG', 'INVALID_REQUEST'];

/** Whether the cluster refuses the value. If it denies the question, the value counts as allowed: `apply` would report it. */
async function isRefused(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return false;
  } catch (error) {
    return isRefusal(answerIn(error));
  }
}

/** Creating topics fails with one error per topic, of which the first says why. */
export const answerIn = (error: unknown): unknown => (error as { errors?: unknown[] }).errors?.[0] ?? error;

/** Whether the cluster takes no such settings, and will not later. */
export const isRefusal = (answer: unknown): boolean =>
  REFUSALS.includes(String((answer as { type?: unknown }).type));
