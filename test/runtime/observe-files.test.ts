import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openRegistry } from '../../src/avro/open-registry.ts';
import { openConnection } from '../../src/kafka/connect/connection.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createHttp } from '../../src/runtime/http-client.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { observeFiles } from '../../src/runtime/observe-files.ts';
import { makeAuthority } from '../support/secure/certificates.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-files-'));
afterAll(() => rmSync(dir, { recursive: true }));
const DAY = 86_400;

describe('the certificates of a process', () => {
  it('are in its metrics with their validity, as their files are at each scrape', async () => {
    const authority = makeAuthority(dir, 'authority');
    const cert = join(dir, 'tls.crt');
    const key = join(dir, 'tls.key');
    const use = (name: string, days: number) => {
      const { certFile, keyFile } = authority.issue(name, 'IP:127.0.0.1', days);
      copyFileSync(certFile, cert);
      copyFileSync(keyFile, key);
    };
    use('first', 2);
    const lines: string[] = [];
    const files = observeFiles(
      createLogger({ name: 'test', level: 'info', write: (line) => void lines.push(line) }),
    );
    const tls = {
      cert: { variable: 'PROVIDER_CERT_FILE', path: cert },
      key: { variable: 'PROVIDER_KEY_FILE', path: key },
    };
    const http = createHttp({ tls, files, clock: systemClock });
    const metrics = createMetrics({ ofNode: false });
    files.report(metrics);
    const daysLeft = async () => {
      for (const sample of metrics.samplers) sample();
      const text = await metrics.registry.metrics();
      const [, end] = /not_after_timestamp_seconds\{file="PROVIDER_CERT_FILE"\} (\S+)/.exec(text) ?? [];
      const [, start] = /not_before_timestamp_seconds\{file="PROVIDER_CERT_FILE"\} (\S+)/.exec(text) ?? [];
      return [(Number(end) - Date.now() / 1_000) / DAY, (Number(end) - Number(start)) / DAY].map(Math.round);
    };
    expect(await daysLeft()).toEqual([2, 2]);
    use('second', 9);
    expect(await daysLeft()).toEqual([9, 9]);
    use('expired', -1);
    expect(await daysLeft()).toEqual([-1, -1]);
    expect(lines.filter((line) => line.includes('changed files loaded'))).toHaveLength(2);
    await http.stop();
  });

  it('are those of all connections: the brokers, the schema registry, the provider', async () => {
    const { certFile, keyFile } = makeAuthority(dir, 'another').issue('client', 'IP:127.0.0.1');
    const files = observeFiles(createLogger({ name: 'test', level: 'silent' }));
    const deps = { files, clock: systemClock, tokenLog: {} } as never;
    openRegistry({ url: 'https://localhost:1', headers: [], certFile, keyFile } as never, deps);
    const settings = { brokers: ['localhost:1'], ssl: true, certFile, keyFile } as never;
    openConnection({ ...(deps as object), settings } as never);
    const provider = {
      cert: { variable: 'PROVIDER_CERT_FILE', path: certFile },
      key: { variable: 'PROVIDER_KEY_FILE', path: keyFile },
    };
    await createHttp({ tls: provider, files, clock: systemClock }).stop();
    const metrics = createMetrics({ ofNode: false });
    files.report(metrics);
    for (const sample of metrics.samplers) sample();
    const { values } = (await metrics.registry
      .getSingleMetric('hookline_certificate_not_after_timestamp_seconds')
      ?.get()) ?? { values: [] };
    expect(values.map(({ labels }) => labels.file).sort()).toEqual([
      'KAFKA_CERT_FILE',
      'PROVIDER_CERT_FILE',
      'SCHEMA_REGISTRY_CERT_FILE',
    ]);
  });
});
