import { connect, type Socket } from 'node:net';
import type { AttackSeen } from './plan.ts';

/** The connections of an attack: what became of them, and their end. */
export class Tally {
  #opened = 0;
  #closed = 0;
  #bytesSent = 0;
  #stopping = false;
  readonly #answers: Record<string, number> = {};
  readonly #open = new Set<Socket>();

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Opens a connection that is counted; its errors are a part of the attack. */
  open(port: number): Socket {
    const socket = connect(port, '127.0.0.1');
    this.#open.add(socket);
    socket.once('connect', () => this.#opened++);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#closed++;
      this.#bytesSent += socket.bytesWritten;
      this.#open.delete(socket);
    });
    return socket;
  }

  /** Reads and counts the answers on a connection; calls `onAnswer` for each but 100. */
  read(socket: Socket, onAnswer: (status: string) => void = () => {}): void {
    socket.on('data', (chunk: Buffer) => {
      for (const [, status = ''] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        this.#answers[status] = (this.#answers[status] ?? 0) + 1;
        if (status !== '100') onAnswer(status);
      }
    });
  }

  seen(): AttackSeen {
    const underWay = [...this.#open].reduce((sum, socket) => sum + socket.bytesWritten, 0);
    const bytesSent = this.#bytesSent + underWay;
    return { opened: this.#opened, closed: this.#closed, bytesSent, answers: this.#answers };
  }

  stop(): void {
    this.#stopping = true;
    for (const socket of this.#open) socket.destroy();
  }
}
