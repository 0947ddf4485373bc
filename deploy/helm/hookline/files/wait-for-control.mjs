import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';

// CURRENT_HOST has the pods of this configuration that are ready, ALL_HOST every pod that still runs. While the two differ, a pod of the
// configuration before could answer what is asked here: it knows another address, other topics, another provider.
const { CURRENT_HOST, ALL_HOST, WAIT_SECONDS } = process.env;
const addressesOf = async (host) => {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address).sort();
};

const deadline = performance.now() + Number(WAIT_SECONDS) * 1_000;
let seen = '';
for (;;) {
  const [ready, all] = await Promise.all([addressesOf(CURRENT_HOST), addressesOf(ALL_HOST)]);
  if (ready.length > 0 && ready.join() === all.join()) break;
  const now = `control: ${ready.length} pod(s) ready with this configuration, ${all.length} in all`;
  if (now !== seen) console.error(`waiting for ${now}`);
  seen = now;
  if (performance.now() > deadline) {
    console.error(
      `${now}, after ${WAIT_SECONDS} s. Find out why with: kubectl logs -l app.kubernetes.io/component=control. Then upgrade (or sync) again.`,
    );
    process.exit(1);
  }
  await sleep(1_000);
}
console.log('Control is ready with this configuration.');
