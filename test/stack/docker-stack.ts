import type { ContainerRuntimeClient, GenericContainer, StartedTestContainer } from 'testcontainers';
import { KAFKA_IMAGE, kafkaContainer, REGISTRY_IMAGE, registryContainer } from './containers.ts';
import { loadTestcontainers, pullImage, removeContainers, startReaper } from './docker-engine.ts';
import { planPorts } from './plan-ports.ts';
import { enforceCompatibility, kafkaAnswers, registryAnswers } from './readiness.ts';
import { readyWhen } from './ready-container.ts';
import { CONFLUENT_API } from './registry.ts';
import { type Stack, type StartInput, stackOf } from './stack.ts';

/** Containers that may outlive their starter carry the state folder under this name. */
export const LABEL = 'hookline.stack';

/** Kafka and the registry as containers. Throws a NoImageError where the engine can't get the images. */
export async function startDockerStack(input: StartInput): Promise<Stack> {
  const { GenericContainer, getContainerRuntimeClient } = await loadTestcontainers();
  const client = await getContainerRuntimeClient();
  await prepare(client, input);

  const ports = await planPorts(input);
  const host = hostOf(client);
  const brokers = ports.kafka.map((port) => `${host}:${port}`);
  const registryUrl = input.withRegistry ? `http://${host}:${ports.registry}${CONFLUENT_API}` : '';
  const failed = new AbortController();
  const signal = AbortSignal.any([input.signal, failed.signal]);

  const kafka = kafkaContainer(GenericContainer, { ...input.kafka, ports, advertisedHost: host });
  const containers = [kafka.withWaitStrategy(readyWhen('Kafka', () => allAnswer(brokers), signal))];
  if (input.withRegistry) {
    const ready = readyWhen('The schema registry', () => registryAnswers(registryUrl), signal);
    containers.push(registryContainer(GenericContainer, ports).withWaitStrategy(ready));
  }
  input.onProgress('starting the containers');
  const starting = containers.map((container) => start(container, input));
  const stop = async () => {
    failed.abort();
    await removeAll(starting);
  };
  try {
    await Promise.all(starting);
    if (registryUrl) await enforceCompatibility(registryUrl);
  } catch (error) {
    await stop();
    throw error;
  }
  const traces = input.keep ? { label: input.dir } : null;
  return stackOf({ brokers, registryUrl, how: 'docker', traces, stop, leave: async () => {} });
}

async function prepare(client: ContainerRuntimeClient, input: StartInput): Promise<void> {
  const images = input.withRegistry ? [KAFKA_IMAGE, REGISTRY_IMAGE] : [KAFKA_IMAGE];
  await Promise.all(images.map((image) => pullImage(client, image, input.onProgress)));
  // What is to stay has no reaper. An `up` that was killed in the middle has left its containers to this one.
  if (input.keep) await removeContainers(LABEL, input.dir);
  else await startReaper(client);
  input.signal.throwIfAborted();
}

/** Not by its name: "localhost" can lead to an IPv6 address first, where the ports need not be open. */
const hostOf = (client: ContainerRuntimeClient) =>
  client.info.containerRuntime.host.replace(/^localhost$/, '127.0.0.1');

async function allAnswer(brokers: readonly string[]): Promise<true | string> {
  const answers = await Promise.all(brokers.map((broker) => kafkaAnswers(broker, brokers.length)));
  return answers.find((answer) => answer !== true) ?? true;
}

function start(container: GenericContainer, { keep, dir }: StartInput): Promise<StartedTestContainer> {
  return (keep ? container.withAutoCleanup(false).withLabels({ [LABEL]: dir }) : container).start();
}

/** Those that did start: testcontainers has removed the others. */
async function removeAll(starting: readonly Promise<StartedTestContainer>[]): Promise<void> {
  const outcomes = await Promise.allSettled(starting);
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  await Promise.all(started.map((one) => one.stop({ timeout: 0, remove: true, removeVolumes: true })));
}
