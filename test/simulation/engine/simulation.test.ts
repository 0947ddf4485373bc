import { describe, expect, it } from 'vitest';
import { actorClock } from './actor-clock.ts';
import { Actor, Simulation } from './simulation.ts';

function begin() {
  const simulation = new Simulation(1, { keepsLines: true });
  const actor = new Actor('it');
  const seen: string[] = [];
  const at = (ms: number, what: string) =>
    simulation.after(ms, actor, () => void seen.push(`${what} ${simulation.now}`));
  return { simulation, actor, seen, at };
}

describe('simulated time', () => {
  it('lets events happen in the order of their time, then of their planning', async () => {
    const { simulation, seen, at } = begin();
    at(5, 'c');
    at(1, 'a');
    at(5, 'd');
    at(2, 'b').cancel();
    await simulation.runUntil(100);
    expect(seen).toEqual(['a 1', 'c 5', 'd 5']);
    expect(simulation.now).toBe(100);
  });

  it('lets promises go on before the next event', async () => {
    const { simulation, actor, seen, at } = begin();
    const clock = actorClock(simulation, actor, simulation.random('clock'));
    simulation.after(1, actor, async () => {
      await Promise.resolve();
      await clock.tick();
      seen.push(`woken ${simulation.now}`);
      await clock.sleep(3);
      seen.push(`slept ${simulation.now}`);
    });
    at(2, 'next');
    await simulation.runUntil(10);
    expect(seen).toEqual(['woken 1', 'next 2', 'slept 4']);
  });

  it('keeps the order of what was due while an actor was frozen, however often', async () => {
    const { simulation, actor, seen, at } = begin();
    simulation.freeze(actor, 10);
    at(3, 'b');
    at(1, 'a');
    simulation.after(5, new Actor('fate'), () => simulation.freeze(actor, 20));
    at(12, 'c');
    at(30, 'd');
    await simulation.runUntil(100);
    expect(seen).toEqual(['a 25', 'b 25', 'c 25', 'd 30']);
  });

  it('lets nothing of a dead actor happen', async () => {
    const { simulation, actor, seen, at } = begin();
    at(1, 'a');
    actor.dieAfter(2);
    at(2, 'b');
    const act = () => seen.push(`${actor.effect()}`);
    simulation.after(1.5, actor, () => [act(), act(), act()]);
    await simulation.runUntil(10);
    expect(seen).toEqual(['a 1', 'true', 'true', 'false']);
  });
});
