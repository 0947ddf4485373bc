import type { Finding } from './choose-way.ts';
import { kafkaAnswers, registryAnswers } from './readiness.ts';
import { type Env, type Stack, type StartInput, stackOf } from './stack.ts';
import { StackError } from './stack-error.ts';
import { waitUntil } from './wait-until.ts';

/** They may just be starting, as the services of a CI job do. */
const ANSWER_MS = 20_000;
const REMEDY = '(unset both variables to have one started here)';

const brokersOf = (env: Env) =>
  (env.KAFKA_BROKERS ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
const registryOf = (env: Env) => (env.SCHEMA_REGISTRY_URL ?? '').trim().replace(/\/+$/, '');

export function findNamed(env: Env, withRegistry: boolean): Finding {
  if (brokersOf(env).length === 0) return { open: false, missing: 'KAFKA_BROKERS is not set.' };
  if (!withRegistry || registryOf(env)) return { open: true };
  // Half of it is a slip, and another Kafka than the one that is named would be a surprise.
  throw new StackError('KAFKA_BROKERS is set, but SCHEMA_REGISTRY_URL is not: set both of them or neither.');
}

/** What the environment names, if it answers. It isn't ours: nothing is set there, and stopping leaves it as it is. */
export async function useNamedStack(input: StartInput): Promise<Stack> {
  const { env, withRegistry, signal, onProgress } = input;
  const brokers = brokersOf(env);
  const registryUrl = withRegistry ? registryOf(env) : '';
  const waiting = { deadlineMs: ANSWER_MS, signal, everyMs: 500 };
  const anyBroker = async () => {
    const answers = await Promise.all(brokers.map((broker) => kafkaAnswers(broker, 1)));
    return answers.includes(true) || answers.join(' ');
  };
  onProgress(`using what the environment names: ${brokers.join(',')} ${registryUrl}`);
  await Promise.all([
    waitUntil(`The Kafka that KAFKA_BROKERS names doesn't answer ${REMEDY}`, anyBroker, waiting),
    withRegistry &&
      waitUntil(
        `The registry that SCHEMA_REGISTRY_URL names doesn't answer ${REMEDY}`,
        () => registryAnswers(registryUrl),
        waiting,
      ),
  ]);
  return stackOf({
    brokers,
    registryUrl,
    how: 'environment',
    traces: null,
    stop: async () => {},
    leave: async () => {},
  });
}
