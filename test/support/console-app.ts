import { nodeSource } from '../../src/config/env.ts';
import { createIdentify } from '../../src/console/access/access.ts';
import type { LoginDeps } from '../../src/console/access/login-routes.ts';
import { html } from '../../src/console/page/html.ts';
import {
  type ChangeEnd,
  defineChange,
  definePage,
  type Page,
  PageError,
  untilGone,
} from '../../src/console/page/page.ts';
import { createConsoleApp } from '../../src/console/serve/app.ts';
import type { Audit, AuditEntry } from '../../src/console/serve/audit.ts';
import { loadConsoleConfig } from '../../src/console/settings/console-config.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { capturedLog } from './captured-log.ts';

/** A script in every place that somebody from outside can fill. */
export const HOSTILE = `"'><script>alert(1)</script>\u202e${'x'.repeat(20)}`;

const SETTINGS = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };

/** The console's server as it is, with two pages and a change of the test's own, and an audit trail that is a list. */
export async function openConsoleApp(
  env: Readonly<Record<string, string>> = {},
  given: { login?: LoginDeps; perMinute?: { all: number; changes: number }; pages?: readonly Page[] } = {},
) {
  const { console: settings } = loadConsoleConfig(nodeSource({ ...SETTINGS, ...env }));
  const entries: (AuditEntry & { outcome?: string; message?: string })[] = [];
  const made: object[] = [];
  const lasting = Promise.withResolvers<ChangeEnd>();
  const trail = { isDown: false };
  const audit: Audit = {
    async begin(entry) {
      if (trail.isDown)
        throw new PageError(503, 'Nothing was changed, because the audit trail cannot be written.');
      const noted: (typeof entries)[number] = { ...entry };
      entries.push(noted);
      return async (outcome, message) => {
        Object.assign(noted, { outcome }, message !== undefined && { message });
      };
    },
    stop: async () => {},
  };
  const change = defineChange<{ word: string }, { word: string }>({
    path: '/words',
    title: 'Changed',
    role: 'operate',
    fields: ['word'],
    read: (fields) => ({ word: String(fields.word ?? '') }),
    audited: ({ word }) => ({ action: 'change a word', details: { word } }),
    async make(input, _request, endsLater) {
      if (input.word === 'last') {
        const end = endsLater();
        void lasting.promise.then((outcome) => end(outcome, 'it lasted'));
      }
      if (input.word === 'fail') throw new Error('the word cannot be changed');
      made.push(input);
      return input;
    },
    show: ({ word }) => html`<p>${word}</p>`,
  });
  const words = definePage<{ word: string }>({
    path: '/words',
    title: 'Words',
    navigation: 'Words',
    role: 'view',
    cli: ({ query }) => `hookline words ${query.q ?? ''}`,
    data: async ({ query }) => ({ word: query.q ?? 'none' }),
    render: ({ word }, { csrfField }) =>
      html`<form method="post" action="/words">${csrfField}<input name="word" value="${word}"><p>${word}</p></form>`,
    changes: [
      change,
      defineChange({
        ...change,
        path: '/words/others',
        cli: (input) => `hookline words change ${(input as { word: string }).word}`,
      }),
    ],
  });
  const secrets = definePage<{ secret: string }>({
    path: '/secrets',
    title: 'Secrets',
    navigation: 'Secrets',
    role: 'reveal',
    cli: () => 'hookline tail --reveal',
    async data(request) {
      await request.audit('reveal', { topic: 'payments' });
      return { secret: 'shown' };
    },
    render: ({ secret }) => html`<p>${secret}</p>`,
  });
  const flood = definePage<object>({
    path: '/flood',
    title: 'Flood',
    navigation: 'Flood',
    role: 'view',
    cli: () => 'hookline flood',
    data: async () => ({}),
    render: () => html`<p></p>`,
    async *live({ signal }) {
      while (!signal.aborted) {
        yield { html: html`<p>${'x'.repeat(100_000)}</p>`, id: 'flood' };
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  });
  const quiet = definePage<object>({
    ...flood,
    path: '/quiet',
    title: 'Quiet',
    navigation: 'Quiet',
    async *live({ signal }) {
      yield { id: 'quiet', html: html`<p></p>` };
      await untilGone(signal);
    },
  });
  const log = capturedLog();
  const app = await createConsoleApp({
    pages: [words, secrets, flood, quiet],
    ...given,
    identify: createIdentify(settings, given.login?.sessions),
    login: given.login,
    audit,
    probes: {
      liveness: () => ({ ok: true, reasons: {} }),
      readiness: () => ({ ok: false, reasons: { start: 'starting' } }),
    },
    logger: log.logger,
    clock: systemClock,
    isSecure: false,
    stopping: new AbortController().signal,
  });
  /** As a browser does it: loads the page, and posts its form. */
  const post = async (
    headers: Record<string, string> = {},
    fields: Record<string, string> = { word: 'new' },
    url = '/words',
  ) => {
    const page = await app.inject({
      url: '/words',
      headers: { accept: 'text/html', host: '127.0.0.1', ...headers },
    });
    const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(page.body) ?? [];
    const cookies = Object.fromEntries(page.cookies.map(({ name, value }) => [name, value]));
    return app.inject({
      method: 'POST',
      url,
      cookies,
      headers: {
        accept: 'text/html',
        host: '127.0.0.1',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      payload: new URLSearchParams({ _csrf: token, ...fields }).toString(),
    });
  };
  return {
    app,
    post,
    entries,
    made,
    lasting,
    trail,
    log,
    settings,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** A proxy at this machine that says who the user is. */
export const HEADER_MODE = {
  CONSOLE_USER_HEADER: 'X-Forwarded-User',
  CONSOLE_GROUPS_HEADER: 'X-Forwarded-Groups',
  CONSOLE_TRUSTED_PROXIES: '127.0.0.1',
  CONSOLE_ROLES: 'viewers=view,oncall=operate,leads=reveal',
};

export const as = (name: string, groups: string) => ({
  'x-forwarded-user': name,
  'x-forwarded-groups': groups,
});
