import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { untilSeen } from '../night/prometheus.ts';
import { compose } from './compose.ts';

const COUNT = 20;
const PROMETHEUS = 'http://127.0.0.1:9090/api/v1';
const GRAFANA = 'http://127.0.0.1:3000/api';

type Rule = { name: string; health: string };
type Alert = { state: string };

/** Null where nobody answers, or not with JSON. */
const getJson = <T>(url: string): Promise<T | null> =>
  fetch(url).then(
    (answer) => answer.json() as Promise<T>,
    () => null,
  );
const ask = async <T>(path: string): Promise<T> => {
  const answer = await getJson<{ data: T }>(`${PROMETHEUS}/${path}`);
  return answer?.data ?? expect.fail('Prometheus does not answer');
};
const query = async (expr: string) =>
  (await ask<{ result: { value: [number, string] }[] }>(`query?${new URLSearchParams({ query: expr })}`))
    .result;

beforeAll(async () => {
  await compose.up();
});

afterAll(async () => {
  await compose.down();
});

describe('docker compose up', () => {
  it('has all of it run; topics and schemas are made, and those that made them have ended well', async () => {
    const services = await compose.services();
    const byName = Object.fromEntries(services.map(({ Service, ...one }) => [Service, one]));
    expect(Object.keys(byName).sort()).toEqual([
      ...['control', 'grafana', 'ingress', 'kafka', 'prometheus', 'registry', 'sandbox', 'schemas', 'topics'],
    ]);
    for (const [name, { State, ExitCode }] of Object.entries(byName)) {
      const isDone = name === 'topics' || name === 'schemas';
      expect([name, State, ExitCode]).toEqual([name, isDone ? 'exited' : 'running', 0]);
    }
  });

  it('is as its first lines say: a command makes a subscription, what is delivered is in Kafka', async () => {
    const create = ['subscription.create', '--ref', 'ledger-eu', '--events', 'payment_status', '--wait'];
    expect(await compose.hookline('command', ...create)).toContain('SUCCEEDED');
    await compose.hookline('trigger', 'payment-status', '--count', String(COUNT));
    const tail = ['tail', 'payment-status', '--from-beginning', '--limit', String(COUNT), '--json'];
    const records = (await compose.hookline(...tail)).trim().split('\n');
    expect(new Set(records.map((line) => JSON.parse(line).value.eventId)).size).toBe(COUNT);
  });

  it('has no fault that the doctor finds', async () => {
    expect(await compose.hookline('doctor')).not.toContain('FAULT');
  });

  it('is watched by Prometheus, by the alerts that are shipped; none of them fires', async () => {
    const stored = 'sum(hookline_deliveries_total{status="200",stored="kafka"})';
    const seen = async () => Number((await query(stored))[0]?.value[1]) === COUNT;
    await untilSeen('the webhooks are seen', seen, 60_000);
    expect((await query('up == 1')).length).toBe(2);
    const { groups } = await ask<{ groups: { rules: Rule[] }[] }>('rules?type=alert');
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.filter(({ health }) => health === 'err')).toEqual([]);
    const { alerts } = await ask<{ alerts: Alert[] }>('alerts');
    expect(alerts.filter(({ state }) => state === 'firing')).toEqual([]);
  });

  it('is shown by Grafana, on the dashboard that is shipped', async () => {
    const dashboard = await until(
      'Grafana has the dashboard',
      async () => {
        const url = `${GRAFANA}/dashboards/uid/hookline`;
        return (await getJson<{ dashboard?: { title: string } }>(url))?.dashboard;
      },
      60_000,
    );
    expect(dashboard.title).toBe('Hookline');
  });

  it('goes on where it was when all of it is started again: what was stored is there', async () => {
    await compose.stop();
    await compose.up();
    const tail = ['tail', 'payment-status', '--from-beginning', '--limit', String(COUNT), '--json'];
    expect((await compose.hookline(...tail)).trim().split('\n').length).toBe(COUNT);
    // The emulated provider has lost the subscription, which control notices.
    const trigger = () => compose.hookline('trigger', 'payment-status', '--count', '1').catch(() => false);
    await untilSeen('webhooks come again', async () => (await trigger()) !== false, 120_000);
  });
});
