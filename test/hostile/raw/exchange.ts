import { connect } from 'node:net';

export type Exchange = {
  readonly text: string;
  /** Of the answers, in their order; 100 left out. */
  readonly statuses: readonly number[];
  /** Whether the server ended the connection. */
  readonly closed: boolean;
  readonly bytesSent: number;
};

/** How long an answer is waited for, and the end of a connection after the last answer. */
const DEADLINE_MS = 15_000;

/** Sends bytes on a bare connection and takes what comes, until `until` holds or the server ends it. */
export function exchange(
  port: number,
  bytes: Buffer | string,
  until: (text: string) => boolean = () => false,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let closed = true;
    const timer = setTimeout(() => end(), DEADLINE_MS);
    const end = () => {
      closed = false;
      socket.destroy();
    };
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (until(text)) end();
    });
    socket.once('close', () => {
      clearTimeout(timer);
      const all = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
      const bytesSent = socket.bytesWritten - socket.writableLength;
      resolve({ text, closed, bytesSent, statuses: all.filter((status) => status !== 100) });
    });
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
}
