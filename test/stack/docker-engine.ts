import type { ContainerRuntimeClient } from 'testcontainers';
import type { Finding } from './choose-way.ts';
import { withDeadline } from './wait-until.ts';

const ANSWER_MS = 5_000;
/** 300 MB on a slow line. */
const PULL_MS = 10 * 60_000;

/** An engine answers but can't get what it is to run. Another way may still do. */
export class NoImageError extends Error {}

/** Loaded when it is first needed, since that takes a quarter of a second. */
export const loadTestcontainers = () => import('testcontainers');

export async function findDocker(): Promise<Finding> {
  const { getContainerRuntimeClient } = await loadTestcontainers();
  const answer = getContainerRuntimeClient().then(
    (): Finding => ({ open: true }),
    (): Finding => ({ open: false, missing: 'No engine answers.' }),
  );
  return withDeadline(answer, ANSWER_MS, {
    open: false,
    missing: `The engine doesn't answer within ${ANSWER_MS / 1000} s.`,
  });
}

/** Sees to it that the engine has the image, or throws a {@link NoImageError}. */
export async function pullImage(
  client: ContainerRuntimeClient,
  image: string,
  onProgress: (line: string) => void,
): Promise<void> {
  const { ImageName } = await loadTestcontainers();
  const name = ImageName.fromString(image);
  if (await client.image.exists(name)) return;
  onProgress(`pulling ${image}`);
  const pulled = client.image.pull(name).then(
    () => 'The pull broke off.',
    (error: Error) => error.message,
  );
  const fault = await withDeadline(pulled, PULL_MS, `It takes longer than ${PULL_MS / 60_000} minutes.`);
  // A pull that breaks off in the middle ends like one that succeeds, so the image is looked for again.
  if (!(await client.image.exists(name))) throw new NoImageError(`${image} can't be pulled: ${fault}`);
}

/**
 * Starts what removes containers when this process is killed: a container itself, for which the same holds as for others.
 * TESTCONTAINERS_RYUK_DISABLED=true does without it.
 */
export async function startReaper(client: ContainerRuntimeClient): Promise<void> {
  const { getReaper } = await loadTestcontainers();
  await getReaper(client).catch((error: Error) => {
    throw new NoImageError(`Testcontainers' reaper can't be started: ${error.message}`);
  });
}

/** Removes every container that has the label with that value. */
export async function removeContainers(label: string, value: string): Promise<void> {
  const { getContainerRuntimeClient } = await loadTestcontainers();
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const filters = { label: [`${label}=${value}`] };
  const containers = await dockerode.listContainers({ all: true, filters });
  await Promise.all(containers.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })));
}
