import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { cutWhenSilent } from '../../../src/kafka/connect/cut-when-silent.ts';
import { connectionFaultOf } from '../../../src/runtime/connection-fault.ts';
import { manualClock } from '../../support/manual-clock.ts';

type Answer = (...answer: unknown[]) => void;

/** A connection that keeps what its requests wait for. */
function watched() {
  const waiting: Answer[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bytesRead: 0,
    destroyed: false,
    error: undefined as unknown,
    destroy(error?: Error) {
      socket.destroyed = true;
      socket.error = error;
    },
  });
  const connection = { socket, send: (...request: unknown[]) => void waiting.push(request.at(-1) as Answer) };
  const time = manualClock();
  cutWhenSilent(connection, 1_000, time);
  const ask = () => {
    const answers: unknown[][] = [];
    connection.send('key', 'version', (...answer: unknown[]) => void answers.push(answer));
    return answers;
  };
  return { socket, waiting, time, ask };
}

it('a connection is cut when nothing came for so long while an answer is awaited', async () => {
  const { socket, time, ask } = watched();
  ask();
  await time.advance(999);
  expect(socket.destroyed).toBe(false);
  await time.advance(1);
  expect(socket.destroyed).toBe(true);
  // Told as a broker that closes the connection, it would be taken for one that demands TLS or SASL.
  expect(connectionFaultOf(socket.error)).toBe('no-answer');
});

it('it is not cut while an answer comes, however long that takes, and is when it stops in the middle', async () => {
  const { socket, time, ask } = watched();
  ask();
  for (let n = 0; n < 60; n++) {
    socket.bytesRead += 1;
    await time.advance(1_000);
  }
  expect(socket.destroyed).toBe(false);
  await time.advance(1_000);
  expect(socket.destroyed).toBe(true);
});

it('it is left alone while nothing is awaited, and answers and failures are passed on', async () => {
  const { socket, waiting, time, ask } = watched();
  const first = ask();
  const second = ask();
  waiting[0]?.(null, 'answer');
  expect(time.waiting()).toBe(1);
  waiting[1]?.(new Error('closed'), null);
  expect([first, second, time.waiting()]).toEqual([[[null, 'answer']], [[new Error('closed'), null]], 0]);
  await time.advance(10_000);
  expect(socket.destroyed).toBe(false);
});
