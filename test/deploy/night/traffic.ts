import { randomUUID } from 'node:crypto';
import { postSigned } from '../../support/sign.ts';

export type Keys = { subscriptionId: string; signingSecret: string };

export const newKeys = (): Keys => ({ subscriptionId: randomUUID(), signingSecret: randomUUID() });

/** A webhook of about so many bytes. */
export const webhook = (n: number, bytes = 0): string =>
  JSON.stringify({ type: 'payment-status', entityId: `e-${n % 50}`, n, x: 'x'.repeat(bytes) });

/** A provider that sends steadily, whatever it is answered, until it is disposed of. */
export class Traffic implements Disposable {
  /** Who signs, and where to: changed in the middle of it. */
  keys: Keys;
  url: string;
  readonly acked: string[] = [];
  readonly #timer: NodeJS.Timeout;
  #sent = 0;

  constructor(to: { url: string; keys: Keys; perSecond?: number; bytes?: number }) {
    const { perSecond = 5, bytes = 0 } = to;
    this.keys = to.keys;
    this.url = to.url;
    this.#timer = setInterval(() => void this.#send(bytes), 1_000 / perSecond);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #send(bytes: number): Promise<void> {
    const body = webhook(this.#sent++, bytes);
    // Nobody listens while it is started anew: as a sender it is not surprised.
    const answer = await postSigned(this.url, this.keys, body).catch(() => null);
    if (answer?.status === 200) this.acked.push(body);
  }
}
