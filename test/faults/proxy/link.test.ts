import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { type Conditions, Link } from './link.ts';

let conditions: Conditions;
let link: Link;
let out: string[];

beforeEach(() => {
  conditions = { blackhole: false, latencyMs: 0 };
  out = [];
  const to = Object.assign(new EventEmitter(), {
    destroyed: false,
    write: (bytes: Buffer) => out.push(String(bytes)) > 0,
  });
  link = new Link(new EventEmitter() as Socket, to as unknown as Socket, conditions);
});

const pass = (text: string, delayMs = 0) => link.pass(Buffer.from(text), delayMs);

describe('a way to a broker', () => {
  it('lets everything through at once while nothing is wrong', () => {
    pass('a');
    pass('b');
    expect(out).toEqual(['a', 'b']);
  });

  it('holds everything while it is a black hole, and lets it go in order', () => {
    conditions.blackhole = true;
    pass('a');
    pass('b');
    expect(out).toEqual([]);
    conditions.blackhole = false;
    link.release();
    expect(out).toEqual(['a', 'b']);
  });

  it('keeps the order, however late what came before is', async () => {
    pass('late', 30);
    pass('b');
    conditions.latencyMs = 20;
    pass('c');
    conditions.latencyMs = 0;
    pass('d');
    expect(out).toEqual([]);
    await until('all have come', () => out.length === 4);
    expect(out).toEqual(['late', 'b', 'c', 'd']);
  });
});
