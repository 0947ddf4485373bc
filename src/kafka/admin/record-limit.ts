import kafkajs from 'kafkajs';
import { describeConfigs } from './describe-topics.ts';

const MIB = 1024 * 1024;

/** A Produce request is larger than its record by the names and numbers around it. */
const REQUEST_OVERHEAD_BYTES = 64 * 1024;

/** What hosted clusters are known to allow, the largest first: 20 MiB and 8 MiB are plans of Confluent Cloud. */
const USUAL_LIMITS = [20 * MIB, 8 * MIB, 2 * MIB];

const REQUEST_LIMIT = 'socket.request.max.bytes';
const DEFAULT_LIMIT = 'message.max.bytes';

/** How a limit was found: how many bytes, and why they are fewer than was wanted. */
export type RecordLimit = {
  /** undefined leaves max.message.bytes to the cluster, which refuses every value. */
  readonly bytes: number | undefined;
  readonly why: string | undefined;
};

/**
 * The largest max.message.bytes, up to `wanted`, that the cluster allows: no more than its brokers read in one request,
 * and no more than its policy takes, which only a try can tell.
 * @param tryOut has the cluster validate a value, or none, and change nothing; rejects where that is refused
 */
export async function allowedRecordBytes(
  admin: kafkajs.Admin,
  wanted: number,
  tryOut: (bytes: number | undefined) => Promise<unknown>,
): Promise<RecordLimit> {
  const reported = await reportedLimits(admin);
  const mostPerRequest = (reported.request ?? Number.POSITIVE_INFINITY) - REQUEST_OVERHEAD_BYTES;
  const first = Math.min(wanted, mostPerRequest);
  const lowerThan = (bytes: number) =>
    [reported.usual ?? 0, ...USUAL_LIMITS].filter((one) => one > 0 && one < bytes);
  const tries = [first, ...lowerThan(first).toSorted((one, other) => other - one)];
  for (const bytes of tries) {
    if (await isRefused(tryOut(bytes))) continue;
    if (bytes === wanted) return { bytes, why: undefined };
    const why =
      bytes === first ? `the brokers' ${REQUEST_LIMIT} allows no more` : "the cluster's policy refuses more";
    return { bytes, why };
  }
  // Refused without it too: then it is about something else, which `apply` will say.
  if (await isRefused(tryOut(undefined))) return { bytes: first, why: undefined };
  return { bytes: undefined, why: "the cluster's policy refuses every value that was tried" };
}

/** The smallest of what the brokers report; nothing where they do not, or where we may not ask. */
async function reportedLimits(admin: kafkajs.Admin): Promise<{ request?: number; usual?: number }> {
  try {
    const { brokers } = await admin.describeCluster();
    const type = kafkajs.ConfigResourceTypes.BROKER;
    const names = brokers.map(({ nodeId }) => String(nodeId));
    const configs = await describeConfigs(admin, names, [REQUEST_LIMIT, DEFAULT_LIMIT], { type });
    const least = (setting: string) => {
      const values = [...configs.values()].map((config) => Number(config.get(setting)));
      return values.length > 0 && values.every((value) => value > 0) ? Math.min(...values) : undefined;
    };
    const [request, usual] = [least(REQUEST_LIMIT), least(DEFAULT_LIMIT)];
    return { ...(request && { request }), ...(usual && { usual }) };
  } catch {
    return {};
  }
}

const REFUSALS = ['POLICY_VIOLATION', 'INVALID_CONFIG', 'INVALID_REQUEST'];

/** Whether the cluster refused the value. Where it did not let us ask, the value stands: `apply` would say so. */
async function isRefused(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return false;
  } catch (error) {
    // Topics that are to be created fail together, each with an error of its own.
    const { errors = [error] } = error as { errors?: unknown[] };
    return errors.some((one) => REFUSALS.includes(String((one as { type?: unknown }).type)));
  }
}
