import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AdminServer,
  createProbes,
  type Probes,
  startAdminServer,
} from '../../src/runtime/admin-server.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.ts';

let probes: Probes;
let metrics: Metrics;
let admin: AdminServer;

beforeEach(async () => {
  probes = createProbes();
  metrics = createMetrics();
  admin = await startAdminServer({ host: '127.0.0.1', port: 0, probes, metrics });
});

afterEach(() => admin.stop());

const get = (path: string) => fetch(`http://127.0.0.1:${admin.port}${path}`);

/** Sends a request line as it stands, which a proper client would not let through. */
async function raw(target: string): Promise<string> {
  const socket = connect(admin.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  const answer = await text(socket);
  return answer.split('\r\n', 1)[0] ?? '';
}

describe('the admin server', () => {
  it('answers 200 where all is well', async () => {
    const answer = await get('/readyz');
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
      200,
      'application/json',
      { status: 'ok', reasons: {} },
    ]);
  });

  it('answers 503 with the reasons, of readiness and of liveness each its own', async () => {
    probes.readyWhen('kafka', () => 'unavailable since 10:00');
    const ready = await get('/readyz?verbose');
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'failing', reasons: { kafka: 'unavailable since 10:00' } },
    ]);
    expect((await get('/livez')).status).toBe(200);
    probes.aliveWhen('consumer', () => 'ended');
    expect((await get('/livez')).status).toBe(503);
  });

  it('closes connections that send no request, or half of one', async () => {
    const strict = await startAdminServer({
      host: '127.0.0.1',
      port: 0,
      probes,
      metrics,
      requestTimeoutMs: 50,
    });
    const closed = ['', 'GET /metrics HTTP/1.1\r\nHost'].map(async (begun) => {
      const socket = connect(strict.port, '127.0.0.1').resume();
      socket.write(begun);
      await once(socket, 'close');
    });
    await Promise.all(closed);
    await strict.stop();
  }, 10_000);

  it('answers beside more open connections than it keeps', async () => {
    const silent = await Promise.all(
      Array.from({ length: 256 }, async () => {
        const socket = connect(admin.port, '127.0.0.1').resume();
        await once(socket, 'connect');
        return socket;
      }),
    );
    const closed = once(silent[0] as Socket, 'close');
    expect((await get('/livez')).status).toBe(200);
    await closed;
    expect(silent.filter(({ closed }) => closed).length).toBe(1);
    for (const socket of silent) socket.destroy();
  });

  it('closes no connection whose answer is still to come, however many others come', async () => {
    const making = Promise.withResolvers<void>();
    metrics.registry.metrics = async () => {
      await making.promise;
      return 'all of them';
    };
    const scrape = get('/metrics');
    const flood = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const socket = connect(admin.port, '127.0.0.1').resume();
        socket.on('error', () => {});
        await once(socket, 'connect');
        return socket;
      }),
    );
    expect((await get('/livez')).status).toBe(200);
    making.resolve();
    expect(await (await scrape).text()).toBe('all of them');
    for (const socket of flood) socket.destroy();
  });

  it.each([
    ['the longest for one that comes', { requestTimeoutMs: 60_000, maxConnections: 4 }, 0, 1],
    ['all of them after a time', { requestTimeoutMs: 100 }, 1_000, 4],
  ])('closes connections that do not read their answer, %s', async (_, limits, waitMs, cut) => {
    // More than the sockets of both ends hold.
    const bytes = 16 * 1024 ** 2;
    metrics.registry.metrics = async () => 'm'.repeat(bytes);
    const strict = await startAdminServer({ host: '127.0.0.1', port: 0, probes, metrics, ...limits });
    const address = `http://127.0.0.1:${strict.port}`;
    const deaf = Array.from({ length: 4 }, () => connect(strict.port, '127.0.0.1').pause());
    for (const socket of deaf) {
      socket.on('error', () => {});
      socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      await once(socket, 'readable');
    }
    for (let n = 0; n < 5; n++) expect((await fetch(`${address}/livez`)).status).toBe(200);
    await sleep(waitMs);
    const read = await Promise.all(deaf.map(async (socket) => (await text(socket).catch(() => '')).length));
    await strict.stop();
    expect(read.filter((length) => length < bytes).length).toBeGreaterThanOrEqual(cut);
  });

  it('makes the metrics once for many who ask at once: it takes the time of the thread that serves webhooks', async () => {
    let made = 0;
    metrics.samplers.add(() => void made++);
    const answers = await Promise.all(Array.from({ length: 200 }, () => get('/metrics')));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(made).toBeLessThan(100);
  });

  it('brings the sampled gauges up to date before a scrape', async () => {
    let backlog = 7;
    const gauge = metrics.gauge({ name: 'hookline_publish_backlog_bytes', help: 'sampled' });
    metrics.samplers.add(() => gauge.set(backlog));
    expect(await (await get('/metrics')).text()).toContain('\nhookline_publish_backlog_bytes 7\n');
    backlog = 0;
    const answer = await get('/metrics');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('\nhookline_publish_backlog_bytes 0\n');
  });

  it('answers 500 to a scrape that fails, and goes on', async () => {
    const broken = () => {
      throw new Error('no such gauge');
    };
    metrics.samplers.add(broken);
    expect((await get('/metrics')).status).toBe(500);
    metrics.samplers.delete(broken);
    expect((await get('/metrics')).status).toBe(200);
  });

  it.each(['//', '//a:b', 'http://[', '/nothing', '*'])('answers 404 to %s and lives on', async (target) => {
    expect(await raw(target)).toBe('HTTP/1.1 404 Not Found');
    expect((await get('/livez')).status).toBe(200);
  });

  it('refuses to start where the port is taken', async () => {
    const again = startAdminServer({ host: '127.0.0.1', port: admin.port, probes, metrics });
    await expect(again).rejects.toThrow('EADDRINUSE');
  });

  it('stops twice, cutting a connection that is kept open', async () => {
    const idle = connect(admin.port, '127.0.0.1');
    await once(idle, 'connect');
    const closed = once(idle, 'close');
    await Promise.all([admin.stop(), admin.stop()]);
    await admin.stop();
    await closed;
    await expect(get('/livez')).rejects.toThrow();
  });
});
