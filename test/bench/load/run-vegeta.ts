import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';
import { type Form, makeRequest } from './bodies.ts';

const run = promisify(execFile);

/** What came of a steady rate. Latencies are from when a request was due. */
export type RateSeen = {
  /** Of all requests, those answered 200. */
  readonly share: number;
  /** Answers per second. */
  readonly throughput: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

const BODIES = 5_000;

/** Writes signed requests for vegeta, a line of JSON each. */
export async function writeTargets(path: string, form: Form, url: URL): Promise<void> {
  const file = createWriteStream(path, { mode: 0o600 });
  for (let n = 0; n < BODIES; n++) {
    const { body, mediaType, signature } = makeRequest(n, form);
    const header = { 'X-Signature-SHA256': [signature], 'Content-Type': [`application/${mediaType}`] };
    file.write(
      `${JSON.stringify({ method: 'POST', url: url.href, body: body.toString('base64'), header })}\n`,
    );
  }
  file.end();
  await once(file, 'close');
}

export type Rate = {
  readonly vegeta: string;
  readonly targets: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections: number;
};

/** Sends at this rate whatever is answered, as a provider does: slow answers do not slow the sending down. */
export async function runVegeta({
  vegeta,
  targets,
  perSecond,
  seconds,
  connections,
}: Rate): Promise<RateSeen> {
  const results = `${targets}.results`;
  const attack = [
    ...['attack', '-format=json', `-targets=${targets}`, `-output=${results}`, `-rate=${perSecond}/s`],
    // Requests beyond that many wait for a connection: a new one for each would use up the machine's ports.
    ...[`-duration=${seconds}s`, `-connections=${connections}`, `-max-connections=${connections}`],
    ...['-max-body=0', '-timeout=30s'],
  ];
  await run(vegeta, attack, { timeout: (seconds + 60) * 1_000 });
  const { stdout } = await run(vegeta, ['report', '-type=json', results]);
  const { latencies, success, throughput } = JSON.parse(stdout);
  const ms = (nanos: number) => nanos / 1e6;
  return { share: success, throughput, p50Ms: ms(latencies['50th']), p99Ms: ms(latencies['99th']) };
}
