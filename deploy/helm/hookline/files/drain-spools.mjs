// Gives each spool whose pod is gone to a Job that drains it: the claims of the StatefulSet that it does not want any more, after a
// scale-down or because it was deleted. A claim that a pod uses, or will use again, is the pod's own: it drains it when it
// starts. Nothing is deleted but Jobs of this script. It can be repeated, and ended at any time.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { NAMESPACE, STATEFUL_SET, CRON_JOB, SELECTOR, JOB_TEMPLATE, TOKEN_FILE } = process.env;
const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
const api = process.env.KUBERNETES_API ?? `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
const REQUEST_MS = 10_000;
const GONE_MS = 30_000;
/**
 * On a Job: what its claim's StatefulSet and this CronJob were when it was made. While both are the same, no pod has used the claim
 * since. The CronJob says whether the chart has a StatefulSet: one that came and went between two runs has left its generation.
 */
const MADE_FOR = 'hookline/made-for';
/** Somebody can make a StatefulSet and delete it without the chart: while there is none, a finished Job counts for so long. */
const FINISHED_MS = 3_600_000;

/** The answer's object; null where there is none of this name. */
async function call(method, path, body) {
  const answer = await fetch(`${api}${path}`, {
    method,
    headers: { authorization: `Bearer ${readFileSync(TOKEN_FILE, 'utf8').trim()}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  if (answer.ok) return answer.json();
  const text = (await answer.text()).slice(0, 500);
  if (answer.status === 404) return null;
  throw new Error(`${method} ${path}: ${answer.status} ${text}`);
}

const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
const list = async (path) => (await call('GET', `${path}?labelSelector=${encodeURIComponent(SELECTOR)}`)).items;
const core = `/api/v1/namespaces/${NAMESPACE}`;
const [set, cronJob, claims, pods, jobs] = await Promise.all([
  call('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/${STATEFUL_SET}`),
  call('GET', `/apis/batch/v1/namespaces/${NAMESPACE}/cronjobs/${CRON_JOB}`),
  list(`${core}/persistentvolumeclaims`),
  // All of them: also one that an operator has made to look into a volume.
  call('GET', `${core}/pods`).then(({ items }) => items),
  list(JOBS),
]);

const template = readFileSync(JOB_TEMPLATE, 'utf8');
const madeFor = createHash('sha256')
  .update(JSON.stringify([set?.metadata.uid, set?.metadata.generation, cronJob?.metadata.generation, template]))
  .digest('hex')
  .slice(0, 16);
const CLAIM = new RegExp(`^spool-${STATEFUL_SET}-(\\d+)$`);
const ordinalOf = ({ metadata }) => CLAIM.exec(metadata.name)?.[1];
const drainJobs = new Map(
  jobs.flatMap((job) => {
    const claim = job.metadata.annotations?.['hookline/claim'];
    return claim ? [[claim, job]] : [];
  }),
);
const isWanted = (ordinal) => Number(ordinal) < (set?.spec.replicas ?? (set ? 1 : 0));
const userOf = (claim) =>
  pods.find(
    ({ metadata, spec, status }) =>
      metadata.annotations?.['hookline/claim'] === undefined &&
      !['Succeeded', 'Failed'].includes(status?.phase) &&
      spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === claim),
  )?.metadata.name;

let isEveryOneWell = true;
const say = (line) => console.log(line);

/** Resolves when the Job is gone, and its pods with it: two of them never write one spool. */
async function remove({ metadata: { name } }) {
  const path = `${JOBS}/${name}`;
  await call('DELETE', path, { propagationPolicy: 'Foreground' });
  for (const end = Date.now() + GONE_MS; await call('GET', path); await sleep(500))
    if (Date.now() > end) throw new Error(`job ${name} is not gone after ${GONE_MS / 1_000} s`);
}

async function drain(claim, ordinal) {
  const job = JSON.parse(template.replaceAll('{claim}', claim).replaceAll('{ordinal}', ordinal));
  job.metadata.annotations = { ...job.metadata.annotations, [MADE_FOR]: madeFor };
  const { name, uid } = cronJob.metadata;
  // It goes when the release goes.
  job.metadata.ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name, uid, blockOwnerDeletion: false }];
  await call('POST', JOBS, job);
  say(`${claim}: its pod is gone, job ${job.metadata.name} drains it`);
}

/** Whether a pod may have used its claim since it was made, or since it finished. */
function isOutdated({ metadata, status }) {
  if (metadata.annotations[MADE_FOR] !== madeFor) return true;
  return !set && Date.now() - Date.parse(status?.completionTime) > FINISHED_MS;
}

async function look(claim, ordinal) {
  const job = drainJobs.get(claim);
  if (isWanted(ordinal)) {
    if (job) await remove(job);
    if (job) say(`${claim}: its pod has it back`);
    return;
  }
  const user = userOf(claim);
  if (user) return say(`${claim}: still used by pod ${user}`);
  if (job && isOutdated(job)) await remove(job);
  else if (job) {
    const { succeeded = 0, conditions = [] } = job.status ?? {};
    const failed = conditions.find(({ type, status }) => type === 'Failed' && status === 'True');
    if (!failed) return succeeded > 0 ? undefined : say(`${claim}: job ${job.metadata.name} drains it`);
    isEveryOneWell = false;
    console.error(`${claim}: job ${job.metadata.name} failed (${failed.reason}), another one tries again`);
    await remove(job);
  }
  await drain(claim, ordinal);
}

async function attempt(claim, work) {
  try {
    await work();
  } catch (error) {
    isEveryOneWell = false;
    console.error(`${claim}: ${error.message}`);
  }
}

// Side by side: a Job that takes long to go must not hold up the drain of another claim until this run's deadline.
const names = new Set(claims.map(({ metadata }) => metadata.name));
await Promise.all([
  ...claims.map(async (claim) => {
    const { name } = claim.metadata;
    const ordinal = ordinalOf(claim);
    if (ordinal !== undefined) await attempt(name, () => look(name, ordinal));
  }),
  ...[...drainJobs].map(async ([claim, job]) => {
    if (!names.has(claim)) await attempt(claim, () => remove(job));
  }),
]);
process.exit(isEveryOneWell ? 0 : 1);
