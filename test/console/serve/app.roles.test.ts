import { expect, it } from 'vitest';
import { as, HEADER_MODE, openConsoleApp } from '../../support/console-app.ts';
import { until } from '../../support/until.ts';

const get = (url: string, headers: Record<string, string>) => ({
  url,
  headers: { accept: 'application/json', ...headers },
});

it('lets viewers read, and neither change nor reveal', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const viewer = as('vera', 'viewers');
  expect((await the.app.inject(get('/words?q=a', viewer))).json()).toEqual({ word: 'a' });
  const change = await the.post(viewer);
  expect([change.statusCode, change.body]).toEqual([
    403,
    expect.stringContaining('vera does not have the role operate'),
  ]);
  expect((await the.app.inject(get('/secrets', viewer))).statusCode).toBe(403);
  expect([the.made, the.entries]).toEqual([[], []]);
});

it('lets operators change, with an audit record, and not reveal', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const operator = as('otto', 'oncall, others');
  expect((await the.post(operator)).statusCode).toBe(200);
  expect((await the.app.inject(get('/secrets', operator))).statusCode).toBe(403);
  expect(the.made).toEqual([{ word: 'new' }]);
  expect(the.entries).toEqual([
    { user: 'otto', action: 'change a word', details: { word: 'new' }, outcome: 'done' },
  ]);
});

it('refuses a field that is not known, and does nothing: it may be a condition that is misspelt', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const { statusCode, body } = await the.post(as('otto', 'oncall'), { word: 'new', Word: 'old' });
  expect([statusCode, body]).toEqual([400, expect.stringContaining('There is no field')]);
  expect([the.made, the.entries]).toEqual([[], []]);
});

it('lets those reveal whose group may, with an audit record, and not change', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const lead = as('lea', 'leads');
  expect((await the.app.inject(get('/secrets', lead))).json()).toEqual({ secret: 'shown' });
  expect((await the.post(lead)).statusCode).toBe(403);
  expect(the.entries).toEqual([
    { user: 'lea', action: 'reveal', details: { topic: 'payments' }, outcome: 'done' },
  ]);
});

it('shows nothing to users without a role, and no link to what a user may not see', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  expect((await the.app.inject(get('/words', as('nemo', 'guests')))).statusCode).toBe(403);
  const page = await the.app.inject({
    url: '/words',
    headers: { accept: 'text/html', ...as('vera', 'viewers') },
  });
  expect([page.body.includes('href="/words"'), page.body.includes('href="/secrets"')]).toEqual([true, false]);
});

it('makes no change whose audit record cannot be written, and says that a change failed', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const operator = as('otto', 'oncall');
  expect((await the.post(operator, { word: 'fail' })).statusCode).toBe(503);
  expect(the.entries).toMatchObject([{ outcome: 'failed' }]);
  the.trail.isDown = true;
  const refused = await the.post(operator);
  expect([refused.statusCode, refused.body]).toEqual([503, expect.stringContaining('Nothing was changed')]);
  expect(the.made).toEqual([]);
});

it('does not say of a change that goes on that it is done before it has ended', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  expect((await the.post(as('otto', 'oncall'), { word: 'last' })).statusCode).toBe(200);
  expect(the.entries[0]).not.toHaveProperty('outcome');
  the.lasting.resolve('stopped');
  await until('its end is told', () => the.entries[0]?.outcome !== undefined);
  expect(the.entries).toMatchObject([{ outcome: 'stopped', message: 'it lasted' }]);
});
