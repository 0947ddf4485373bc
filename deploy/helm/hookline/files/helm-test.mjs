import { lookup } from 'node:dns/promises';

const faults = [];
const { WEBHOOKS_URL, NEEDS_CERTIFICATE, READY_HOSTS, CONSOLE_URL } = process.env;
const headers = { 'content-type': 'application/json' };
const answer = await fetch(`${WEBHOOKS_URL}/webhooks/helm-test`, { method: 'POST', headers, body: '{}' }).catch(
  (error) => error,
);
// With mutual TLS nothing is answered to whoever has no certificate, as this test.
if (NEEDS_CERTIFICATE && !(answer instanceof Error)) faults.push('ingress needs no client certificate');
if (!NEEDS_CERTIFICATE && answer.status !== 401)
  faults.push(`an unsigned webhook was answered ${answer.status ?? answer.cause?.message ?? answer}, not 401`);
for (const host of READY_HOSTS.split(',')) {
  // As programs look names up: a query of the name server alone knows no search domains.
  const addresses = await lookup(host, { all: true }).catch(() => []);
  if (addresses.length === 0) faults.push(`${host} has no pods`);
  for (const { address, family } of addresses) {
    const ready = await fetch(`http://${family === 6 ? `[${address}]` : address}:9464/readyz`);
    if (!ready.ok) faults.push(`${host} (${address}): ${await ready.text()}`);
  }
}
if (CONSOLE_URL) {
  const ready = await fetch(`${CONSOLE_URL}/readyz`);
  if (!ready.ok) faults.push(`the console: ${await ready.text()}`);
  const page = await fetch(CONSOLE_URL, { headers: { accept: 'application/json' } });
  if (page.status !== 401 && page.status !== 403) faults.push(`the console answered ${page.status} to nobody`);
}
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log('Webhooks are received and judged, and every pod is ready.');
process.exit(faults.length === 0 ? 0 : 1);
