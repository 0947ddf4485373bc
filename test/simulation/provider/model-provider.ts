import type { Random } from '../../faults/random.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import type { Server, ServerConnection } from '../net/connection.ts';
import type { Network } from '../net/network.ts';
import { type Message, readMessage, writeMessage } from './http-wire.ts';

export const PROVIDER_PORT = 18_443;
/** As PROVIDER_AUTH_URL and PROVIDER_BASE_URL. */
export const PROVIDER_URL = `http://provider:${PROVIDER_PORT}`;
const TOKEN_SECONDS = 30;
/** Runs that can be replayed begin so. */
export const KNOWN_RUN = 'run-';

export type Subscription = { readonly id: string; readonly url: string; readonly events: readonly string[] };
/** Something that changed at the provider. */
export type Effect = {
  readonly at: number;
  readonly what: string;
  readonly subscription: Subscription | null;
  /** The process that has asked for it. */
  readonly by: string;
  /** Nobody waits for its answer any more, or it is one more than was asked for. */
  readonly isForsaken: boolean;
};

/**
 * What happens to a request instead of what should:
 * - `lost`: it takes effect, and the connection breaks
 * - `swallowed`: it takes effect, and is never answered
 * - `late`: it takes effect, and is answered, after a while
 * - `forsaken`: the connection breaks, and it takes effect after a while
 * - `failed`: 500, without an effect
 * - `failed-after`: 503, after its effect
 * - `twice`: it takes effect twice, as behind a proxy that repeats it
 * - `busy`: 429 with Retry-After
 * - `refused`: 422 to what would change something
 */
const PROVIDER_FAULTS = [
  ...([
    'lost',
    'swallowed',
    'late',
    'forsaken',
    'failed',
    'failed-after',
    'twice',
    'busy',
    'refused',
  ] as const),
];
export type ProviderFault = {
  readonly kind: (typeof PROVIDER_FAULTS)[number];
  readonly chance: number;
  /** The longest while. */
  readonly ms: number;
};

/** By whom a change is that nobody has asked for here. */
export const BY_HAND = 'hand';

/** What a subscription becomes; undefined: it is deleted. */
const HAND_CHANGES: readonly ((known: Subscription) => Subscription | undefined)[] = [
  () => undefined,
  (known) => ({ ...known, events: ['payment_status'] }),
  (known) => ({ ...known, url: `https://moved.example/${known.id}` }),
];

type Answer = { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> };
type Asked = {
  readonly method: string;
  readonly path: string;
  readonly message: Message;
  isForsaken: boolean;
};

const isChange = ({ method, path }: Asked) => method !== 'GET' && path !== '/oauth/token';

/** The provider: tokens, subscriptions and replays as src/sandbox has them, and what can go wrong with them. */
export class ModelProvider implements Server {
  readonly actor = new Actor('provider');
  isUp = true;
  fault: ProviderFault | undefined;
  readonly subscriptions = new Map<string, Subscription>();
  /** By id, also of those that were deleted. */
  readonly secrets = new Map<string, string>();
  readonly effects: Effect[] = [];
  /** Requests that have not taken effect yet. */
  underWay = 0;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #tokens = new Map<string, number>();

  constructor(simulation: Simulation, network: Network) {
    this.#simulation = simulation;
    this.#random = simulation.random('provider');
    network.listen(PROVIDER_PORT, this);
  }

  /** One that was there before. */
  addForeign(url: string, events: readonly string[]): Subscription {
    const foreign = { id: this.#newText(36), url, events };
    this.subscriptions.set(foreign.id, foreign);
    this.secrets.set(foreign.id, this.#newText(36));
    this.effects.push({ at: 0, what: 'creates', subscription: foreign, by: '', isForsaken: false });
    return foreign;
  }

  /**
   * As somebody does who works at the provider itself: one of those whose address begins so is deleted, gets other events, or another
   * address.
   * @param value from 0 to 1: which, and what
   */
  changeByHand(value: number, ours: string): void {
    const found = [...this.subscriptions.values()].filter(({ url }) => url.startsWith(ours));
    const drawn = Math.floor(value * found.length * HAND_CHANGES.length);
    const known = found[drawn % found.length];
    if (!known) return;
    const changed = HAND_CHANGES[Math.floor(drawn / found.length)]?.(known);
    const note = (what: string, subscription: Subscription) => {
      this.#simulation.trace.note('provider', `${what} by hand ${subscription.id} ${subscription.url}`);
      const { now: at } = this.#simulation;
      this.effects.push({ at, what, subscription, by: BY_HAND, isForsaken: true });
    };
    if (!changed) {
      this.subscriptions.delete(known.id);
      return note('deletes', known);
    }
    this.subscriptions.set(known.id, changed);
    for (const one of [known, changed]) note('updates', one);
  }

  /** Tokens that were given out are not taken any more. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  accept(connection: ServerConnection) {
    let received = Buffer.alloc(0);
    let asked: Asked | undefined;
    return {
      received: (bytes: Buffer) => {
        received = Buffer.concat([received, bytes]);
        const message = readMessage(received);
        if (!message || asked) return;
        const [method = '', path = ''] = message.first.split(' ');
        asked = { method, path, message, isForsaken: false };
        this.#take(asked, connection);
      },
      // What has arrived is done, whoever waits for it.
      closed: () => {
        if (asked) asked.isForsaken = true;
      },
    };
  }

  #take(asked: Asked, connection: ServerConnection): void {
    const { fault } = this;
    const met = fault && this.#random.chance(fault.chance) ? fault : undefined;
    const while_ = met ? Math.floor(this.#random.next() * met.ms) : 0;
    if (met) this.#simulation.trace.note('provider', `meets ${met.kind} at ${asked.method} ${asked.path}`);
    const reply = ({ status, body, headers = {} }: Answer) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      connection.send(writeMessage({ first: `HTTP/1.1 ${status}`, headers, body: text }));
    };
    const waits = met?.kind === 'late' || met?.kind === 'forsaken';
    if (met?.kind === 'forsaken') {
      asked.isForsaken = true;
      connection.reset();
    }
    this.underWay++;
    const work = () => {
      this.underWay--;
      if (met?.kind === 'failed') return reply({ status: 500 });
      if (met?.kind === 'refused' && isChange(asked)) return reply({ status: 422 });
      if (met?.kind === 'busy') return reply({ status: 429, headers: { 'retry-after': '1' } });
      if (met?.kind === 'twice') this.#carryOut({ ...asked, isForsaken: true });
      asked.isForsaken ||= connection.isAbandoned();
      const answer = this.#carryOut(asked);
      if (met?.kind === 'lost') return connection.reset();
      if (met?.kind === 'swallowed') return;
      if (met?.kind === 'failed-after') return reply({ status: 503 });
      reply(answer);
    };
    const delay = 1 + this.#random.next() * 20 + (waits ? while_ : 0);
    this.#simulation.after(delay, this.actor, work, { settles: false });
  }

  #carryOut(asked: Asked): Answer {
    const { method, path, message } = asked;
    if (path === '/oauth/token') return this.#giveToken(message);
    const token = message.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if ((this.#tokens.get(token) ?? 0) < this.#simulation.now) return { status: 401 };
    const [, collection, id = ''] = path.split('/');
    const body = message.body === '' ? {} : (JSON.parse(message.body) as Record<string, unknown>);
    if (collection === 'subscriptions')
      return method === 'GET'
        ? { status: 200, body: [...this.subscriptions.values()] }
        : this.#create(body, asked);
    if (collection === 'executions') return this.#replay(String(body.executionId), asked);
    return method === 'DELETE' ? this.#delete(id, asked) : this.#update(id, body, asked);
  }

  #giveToken({ body }: Message): Answer {
    const form = new URLSearchParams(body);
    if (!form.get('client_assertion') || !form.get('scope')) return { status: 400 };
    const token = `token-${this.#newText(20)}`;
    this.#tokens.set(token, this.#simulation.now + TOKEN_SECONDS * 1_000);
    const granted = { access_token: token, token_type: 'bearer', expires_in: TOKEN_SECONDS };
    return { status: 200, body: { ...granted, scope: form.get('scope') } };
  }

  #create({ url, events = [] }: Record<string, unknown>, asked: Asked): Answer {
    const created = { id: this.#newText(36), url: String(url), events: events as string[] };
    const signingSecret = this.#newText(36);
    this.subscriptions.set(created.id, created);
    this.secrets.set(created.id, signingSecret);
    this.#note('creates', created, asked);
    return { status: 201, body: { ...created, active: true, signingSecret } };
  }

  #update(id: string, { url, events }: Record<string, unknown>, asked: Asked): Answer {
    const known = this.subscriptions.get(id);
    if (!known) return { status: 404 };
    const updated = { id, url: String(url ?? known.url), events: (events ?? known.events) as string[] };
    this.subscriptions.set(id, updated);
    this.#note('updates', updated, asked);
    return { status: 200, body: updated };
  }

  #delete(id: string, asked: Asked): Answer {
    const known = this.subscriptions.get(id);
    if (!known) return { status: 404 };
    this.subscriptions.delete(id);
    this.#note('deletes', known, asked);
    return { status: 204 };
  }

  #replay(executionId: string, asked: Asked): Answer {
    if (!executionId.startsWith(KNOWN_RUN)) return { status: 404 };
    this.#note(`replays ${executionId}`, null, asked);
    return { status: 202, body: { executionId } };
  }

  #note(what: string, subscription: Subscription | null, { message, isForsaken }: Asked): void {
    const { id = '', url = '', events = [] } = subscription ?? {};
    this.#simulation.trace.note('provider', `${what} ${id} ${url} ${events.join(', ')}`.trimEnd());
    const by = message.headers['user-agent'] ?? '';
    this.effects.push({ at: this.#simulation.now, what, subscription, by, isForsaken });
  }

  #newText = (length: number) =>
    Array.from({ length }, () => Math.floor(this.#random.next() * 36).toString(36)).join('');
}
