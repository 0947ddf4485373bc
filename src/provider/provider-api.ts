import { canonicalAddress } from '../core/address.ts';
import { resolvePointer } from '../core/json.ts';
import type { Outcome, ProviderCall } from './call-provider.ts';
import type { Dialect } from './dialect.ts';
import { fillTemplate, type TemplateValues } from './template.ts';

/** A subscription as the provider lists it. */
export type ListedItem = {
  readonly id: string;
  readonly url: string | null;
  readonly events: readonly string[] | null;
  readonly isActive: boolean;
};

/** What the provider makes of a create request; the secret may come another way than its answer. */
export type CreatedItem = { readonly id: string; readonly signingSecret: string | undefined };

/** The operations of section 4.2, in the words of the dialect. Each is one call and its judgement. */
export type ProviderApi = {
  create(values: TemplateValues, extra: object): Promise<Outcome & { created: CreatedItem | null }>;
  update(id: string, values: TemplateValues, extra: object): Promise<Outcome>;
  remove(id: string): Promise<Outcome>;
  /** `items` is null where the answer doesn't have the dialect's shape. */
  list(): Promise<Outcome & { items: readonly ListedItem[] | null }>;
  replay(values: TemplateValues, extra: object): Promise<Outcome>;
};

export function createProviderApi(call: ProviderCall, dialect: Dialect): ProviderApi {
  const body = (template: unknown, values: TemplateValues, extra: object) => ({
    ...(fillTemplate(template, values) as object),
    ...extra,
  });
  const item = (id: string) => `/subscription/${encodeURIComponent(id)}`;
  return {
    async create(values, extra) {
      const request = {
        method: 'POST',
        path: '/subscriptions',
        body: body(dialect.create.body, values, extra),
      } as const;
      const outcome = await call(request);
      return { ...outcome, created: readCreated(outcome, dialect) };
    },
    update: (id, values, extra) =>
      call({ method: 'PUT', path: item(id), body: body(dialect.update.body, values, extra) }),
    remove: (id) => call({ method: 'DELETE', path: item(id) }),
    async list() {
      const outcome = await call({ method: 'GET', path: '/subscriptions' });
      // What the answer holds besides is let go: it may be megabytes.
      return { ...outcome, body: undefined, items: readItems(outcome, dialect) };
    },
    replay: (values, extra) =>
      call({
        method: 'POST',
        path: '/executions/replay-execution',
        body: body(dialect.replay.body, values, extra),
      }),
  };
}

function readCreated({ body }: Outcome, { create }: Dialect): CreatedItem | null {
  const id = resolvePointer(body, create.response.id);
  const signingSecret = resolvePointer(body, create.response.signingSecret);
  if (!isId(id)) return null;
  return { id, signingSecret: typeof signingSecret === 'string' ? signingSecret : undefined };
}

/** It goes into a path, where dots alone would lead elsewhere, and into records. */
const ID = /^(?!\.{1,2}$)[\x21-\x7e]{1,200}$/;

const isId = (id: unknown): id is string => typeof id === 'string' && ID.test(id);

/**
 * An id that comes twice with two addresses contradicts itself: nobody could say which of the two is changed by it. One that is active
 * in one place is there.
 */
function readItems({ body }: Outcome, { list }: Dialect): readonly ListedItem[] | null {
  const items = resolvePointer(body, list.items);
  if (!Array.isArray(items)) return null;
  const read = new Map<string, ListedItem>();
  for (const item of items as unknown[]) {
    const id = resolvePointer(item, list.id);
    const address = resolvePointer(item, list.url);
    const events = resolvePointer(item, list.events);
    if (!isId(id)) return null;
    const url = typeof address === 'string' ? canonicalAddress(address) : null;
    const same = read.get(id);
    if (same && same.url !== url) return null;
    const isActive = resolvePointer(item, list.active) !== false || same?.isActive === true;
    read.set(id, {
      id,
      url,
      events: Array.isArray(events) ? events.filter((event) => typeof event === 'string') : null,
      isActive,
    });
  }
  return [...read.values()];
}
