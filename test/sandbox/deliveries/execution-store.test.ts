import { describe, expect, it } from 'vitest';
import { createExecutionStore, newExecution } from '../../../src/sandbox/deliveries/execution-store.ts';

const execution = (bytes: number) =>
  newExecution(
    {
      subscriptionId: 's',
      triggerId: null,
      replayOf: null,
      type: null,
      entityId: null,
      message: Buffer.alloc(bytes),
      sealing: null,
      url: 'http://receiver.example',
    },
    0,
  );

function storeOf(limits: { count: number; bytes: number }) {
  const store = createExecutionStore(limits);
  const add = (bytes = 1) => {
    const one = execution(bytes);
    store.add(one);
    return one;
  };
  const finish = (one: ReturnType<typeof execution>) => {
    one.state = 'delivered';
    store.finish(one);
  };
  const ids = () => store.list(() => true, 100).map((one) => one.id);
  return { store, add, finish, ids };
}

const aTurnLater = () => new Promise((resolve) => setImmediate(resolve, 'none'));

describe('the execution store', () => {
  it('drops the oldest final one when there are too many', () => {
    const { add, finish, ids } = storeOf({ count: 2, bytes: 100 });
    const a = add();
    const b = add();
    finish(b);
    finish(a);
    const c = add();
    expect(ids()).toEqual([c.id, a.id]);
  });

  it('drops as many as the bytes demand', () => {
    const { add, finish, ids } = storeOf({ count: 100, bytes: 100 });
    for (const bytes of [40, 40]) finish(add(bytes));
    const large = add(90);
    expect(ids()).toEqual([large.id]);
  });

  it('never drops one that is in progress, and makes the next wait for capacity', async () => {
    const { store, add, finish, ids } = storeOf({ count: 2, bytes: 100 });
    const a = add(50);
    const b = add(20);
    let entered = false;
    const capacity = store.capacity(10).then(() => {
      entered = true;
    });
    await aTurnLater();
    expect(entered).toBe(false);
    expect(ids()).toEqual([b.id, a.id]);
    finish(a);
    await capacity;
    expect(entered).toBe(true);
  });

  it('counts the bytes on their way, too', async () => {
    const { store, add, finish } = storeOf({ count: 100, bytes: 100 });
    const [a] = [add(50), add(20)];
    await store.capacity(30);
    expect(await Promise.race([store.capacity(31).then(() => 'capacity'), aTurnLater()])).toBe('none');
    finish(a);
    await store.capacity(31);
  });

  it('lets one through that is larger than the limit, alone', async () => {
    const { store, add } = storeOf({ count: 10, bytes: 100 });
    await store.capacity(1000);
    add(1000);
    expect(await Promise.race([store.capacity(1).then(() => 'capacity'), aTurnLater()])).toBe('none');
  });

  it('forgets the final ones when cleared', () => {
    const { store, add, finish, ids } = storeOf({ count: 10, bytes: 100 });
    const a = add();
    const b = add();
    finish(a);
    store.clear();
    expect(ids()).toEqual([b.id]);
    expect(store.get(a.id)).toBeUndefined();
  });
});
