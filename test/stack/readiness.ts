import { Kafka, logLevel } from 'kafkajs';
import { reaching } from './reach-brokers.ts';
import { withDeadline } from './wait-until.ts';

/** One look takes 5 s at most: a frozen broker accepts connections and then says nothing. */
const LOOK_MS = 5_000;

/** Whether the broker answers and knows of that many nodes, itself included. */
export function kafkaAnswers(broker: string, nodes: number): Promise<true | string> {
  return withDeadline(
    describe(broker, nodes),
    LOOK_MS,
    `${broker} didn't answer within ${LOOK_MS / 1000} s.`,
  );
}

async function describe(broker: string, nodes: number): Promise<true | string> {
  const admin = new Kafka({
    clientId: 'hookline-stack',
    ...reaching([broker]),
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { retries: 0 },
  }).admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    return brokers.length >= nodes || `${broker} knows ${brokers.length} of ${nodes} nodes.`;
  } catch (error) {
    return `${broker}: ${error instanceof Error ? error.message : error}`;
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

/** Whether the registry's Confluent API answers under that address. */
export async function registryAnswers(url: string): Promise<true | string> {
  try {
    const response = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(LOOK_MS) });
    await response.body?.cancel();
    return response.ok || `${url}/subjects answered ${response.status}.`;
  } catch (error) {
    return `${url}: ${reasonOf(error)}`;
  }
}

/** `fetch` says no more than "fetch failed" and keeps what happened in the cause, for several addresses as an empty one. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || String((cause as NodeJS.ErrnoException).code ?? error.message);
}

/** Apicurio enforces no compatibility by itself, Confluent's own registry would enforce BACKWARD: ours is the strictest. */
export async function enforceCompatibility(url: string): Promise<void> {
  const response = await fetch(`${url}/config`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ compatibility: 'FULL_TRANSITIVE' }),
    signal: AbortSignal.timeout(LOOK_MS),
  });
  if (!response.ok)
    throw new Error(`PUT ${url}/config answered ${response.status}: ${await response.text()}`);
  await response.body?.cancel();
}
