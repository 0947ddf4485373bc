import { describe, expect, it } from 'vitest';
import { moveOver, type SubjectVersions } from '../../src/avro/move-over.ts';
import { HooklineError } from '../../src/core/errors.ts';

const unavailable = () => new HooklineError('REGISTRY_UNAVAILABLE', 'http://registry: no answer');

/** A subject with these versions, of which all are incompatible; it does with each call as told. */
function subject(
  old: number[],
  fault: (call: string, nth: number) => HooklineError | undefined = () => undefined,
) {
  const calls: string[] = [];
  const versions = new Set(old);
  let level = 'FULL_TRANSITIVE';
  const call = async (name: string, effect: () => void = () => {}) => {
    calls.push(name);
    const failure = fault(name, calls.filter((one) => one === name).length);
    if (failure) throw failure;
    effect();
  };
  const ports: SubjectVersions = {
    incompatible: async () => [...versions].filter((version) => version !== 9),
    ownVersion: async () => (versions.has(9) ? 9 : null),
    setCompatibility: (to) =>
      call(to, () => {
        level = to;
      }),
    register: () => call('register', () => versions.add(9)),
    remove: (version) => call(`remove ${version}`, () => versions.delete(version)),
    explain: (error) => error as HooklineError,
  };
  return { ports, calls, state: () => ({ level, versions: [...versions] }) };
}

describe('a subject', () => {
  it('is moved over: the versions in the way are deleted, and the rule holds again', async () => {
    const { ports, state } = subject([1, 2]);
    expect(await moveOver('s', ports)).toEqual([1, 2]);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [9] });
  });

  it('keeps its old versions where that is asked for, and loses them when it is moved over again', async () => {
    const { ports, state } = subject([1, 2]);
    expect(await moveOver('s', ports, { keepsOld: true })).toEqual([]);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [1, 2, 9] });
    expect(await moveOver('s', ports)).toEqual([1, 2]);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [9] });
  });

  it('keeps its rule all the time where nothing is in the way', async () => {
    const { ports, calls } = subject([]);
    expect(await moveOver('s', ports)).toEqual([]);
    expect(calls).toEqual(['FULL_TRANSITIVE', 'register']);
  });

  it.each(['NONE', 'register', 'remove 1', 'remove 2'])(
    'that is interrupted at %s gets its rule back, and the error says to run it again',
    async (at) => {
      const { ports, state } = subject([1, 2], (call) => (call === at ? unavailable() : undefined));
      await expect(moveOver('s', ports)).rejects.toMatchObject({
        code: 'REGISTRY_UNAVAILABLE',
        message: expect.stringContaining('s is moved over in part: run hookline schemas push --major again'),
      });
      expect(state().level).toBe('FULL_TRANSITIVE');
    },
  );

  it('whose rule cannot be set again is left without one, and the error says that too', async () => {
    let isGone = false;
    const { ports, state } = subject([1], (call) => {
      isGone ||= call === 'register';
      return isGone ? unavailable() : undefined;
    });
    await expect(moveOver('s', ports)).rejects.toMatchObject({
      message: expect.stringContaining(
        's may be left with compatibility NONE: run hookline schemas push --major again',
      ),
    });
    expect(state().level).toBe('NONE');
  });

  it('whose rule cannot be set again at the end is left without one too', async () => {
    const { ports } = subject([1], (call, nth) =>
      call === 'FULL_TRANSITIVE' && nth === 2 ? unavailable() : undefined,
    );
    await expect(moveOver('s', ports)).rejects.toMatchObject({
      message: expect.stringContaining('s may be left with compatibility NONE'),
    });
  });

  it('whose rule somebody else sets back in between is moved over by another try', async () => {
    const refused = new HooklineError('SCHEMA_INCOMPATIBLE', 'field a');
    const { ports, state } = subject([1], (call, nth) =>
      call === 'register' && nth === 1 ? refused : undefined,
    );
    expect(await moveOver('s', ports)).toEqual([1]);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [9] });
  });

  it('that somebody else has moved over in part never loses its rule', async () => {
    const { ports, calls, state } = subject([1, 2, 9]);
    expect(await moveOver('s', ports)).toEqual([1, 2]);
    expect(calls).toEqual(['FULL_TRANSITIVE', 'remove 1', 'remove 2', 'FULL_TRANSITIVE']);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [9] });
  });

  it('keeps the schema itself where the registry judges all versions, whichever one it is asked about', async () => {
    const { ports, state } = subject([1, 2, 9]);
    const incompatible = async () => (state().versions.length > 1 ? state().versions : []);
    expect(await moveOver('s', { ...ports, incompatible })).toEqual([1, 2]);
    expect(state()).toEqual({ level: 'FULL_TRANSITIVE', versions: [9] });
    expect(await moveOver('s', { ...ports, incompatible })).toEqual([]);
    expect(state().versions).toEqual([9]);
  });

  it('that refuses without end is given up, and the error says whose rule it may be', async () => {
    const refused = new HooklineError('SCHEMA_INCOMPATIBLE', 'field a');
    const { ports, calls } = subject([1], (call) => (call === 'register' ? refused : undefined));
    await expect(moveOver('s', ports)).rejects.toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      detail: 'field a',
      remedy: expect.stringContaining(
        'which holds although that of s was NONE: set it to NONE (PUT /config)',
      ),
    });
    expect(calls.filter((call) => call === 'register')).toHaveLength(8);
  });
});
