import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';

const faults = [];
const { WEBHOOKS_URL, NEEDS_CERTIFICATE, READY_HOSTS, CONSOLE_URL } = process.env;
// A network policy takes a moment to know a pod that has just started, such as this one: its connections are refused until then.
const { CONNECT_MS = '10000' } = process.env;
const deadline = performance.now() + Number(CONNECT_MS);
/** Of each attempt. */
const ANSWER_MS = 10_000;
if (NEEDS_CERTIFICATE) {
  const fault = await faultOfMutualTls(new URL(WEBHOOKS_URL));
  if (fault) faults.push(fault);
} else {
  const headers = { 'content-type': 'application/json' };
  const answer = await ask(`${WEBHOOKS_URL}/webhooks/helm-test`, { method: 'POST', headers, body: '{}' });
  if (answer.status !== 401) faults.push(`an unsigned webhook was answered ${answer.status}, not 401`);
}
for (const host of READY_HOSTS.split(',')) {
  // As programs look names up: a query of the name server alone knows no search domains.
  const addresses = await lookup(host, { all: true }).catch(() => []);
  if (addresses.length === 0) faults.push(`${host} has no pods`);
  for (const { address, family } of addresses) {
    const ready = await ask(`http://${family === 6 ? `[${address}]` : address}:9464/readyz`);
    if (!ready.ok) faults.push(`${host} (${address}): ${await ready.text()}`);
  }
}
if (CONSOLE_URL) {
  const ready = await ask(`${CONSOLE_URL}/readyz`);
  if (!ready.ok) faults.push(`the console: ${await ready.text()}`);
  const page = await ask(CONSOLE_URL, { headers: { accept: 'application/json' } });
  if (page.status !== 401 && page.status !== 403) faults.push(`the console answered ${page.status} to nobody`);
}
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log('Webhooks are received and judged, and every pod is ready.');
process.exit(faults.length === 0 ? 0 : 1);

/** The answer; of what gives none its status says why. */
function ask(url, request) {
  return again(() => fetch(url, { ...request, signal: AbortSignal.timeout(ANSWER_MS) })).catch(({ cause, message }) => {
    const status = `not at all: ${cause?.message || (cause?.code ?? message)}`;
    return { ok: false, status, text: async () => status };
  });
}

/** Without a certificate, which this test has not, TLS begins and nothing is answered. */
function faultOfMutualTls(url) {
  return again(() => faultOfHandshake(url)).catch(({ message }) => `ingress ${message}`);
}

/** What fails is tried again, until the deadline. */
async function again(attempt) {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(500);
    }
  }
}

/** Null where there is none; throws where it did not come so far that there could be one. */
function faultOfHandshake({ hostname: host, port }) {
  return new Promise((resolve, reject) => {
    const failed = (how) => reject(new Error(how));
    let hasBegun = false;
    const socket = connect({ host, port: Number(port) || 443, rejectUnauthorized: false }, () => {
      hasBegun = true;
      socket.write('POST /webhooks/helm-test HTTP/1.1\r\nhost: helm-test\r\ncontent-length: 2\r\n\r\n{}');
    });
    socket.once('data', () => resolve('ingress answers who has no client certificate'));
    // In TLS 1.2 the refusal comes before the end of the handshake.
    socket.once('error', ({ code = '', message }) =>
      hasBegun || code.startsWith('ERR_SSL') ? resolve(null) : failed(`does not answer: ${message}`),
    );
    socket.once('close', () => (hasBegun ? resolve(null) : failed('closes the connection before TLS')));
    socket.setTimeout(ANSWER_MS, () => {
      failed('does not answer within 10 s');
      socket.destroy();
    });
  });
}
