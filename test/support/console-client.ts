/** Talks to a console as its users do, behind a proxy that names them. */
export class ConsoleClient {
  readonly url: string;
  readonly #groups: string;

  constructor(url: string, groups: string) {
    this.url = url;
    this.#groups = groups;
  }

  /** Variables of a console that such clients can talk to. */
  static env = {
    CONSOLE_HOST: '127.0.0.1',
    CONSOLE_PORT: '0',
    CONSOLE_TRUSTED_PROXIES: '127.0.0.1/32',
    CONSOLE_USER_HEADER: 'X-Forwarded-User',
    CONSOLE_GROUPS_HEADER: 'X-Forwarded-Groups',
    CONSOLE_ROLES: 'viewers=view,operators=operate,leads=reveal',
  };

  get(path: string, accept = 'text/html'): Promise<Response> {
    return fetch(this.url + path, { headers: { ...this.#user(), accept }, redirect: 'manual' });
  }

  async html(path: string): Promise<string> {
    const answer = await this.get(path);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.text();
  }

  async json<T>(path: string): Promise<T> {
    const answer = await this.get(path, 'application/json');
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Posts as JSON, with the token that a page gave. */
  async post(path: string, fields: object): Promise<{ status: number; body: Record<string, unknown> }> {
    const page = await this.get('/', 'application/json');
    const cookie = page.headers.getSetCookie().map((one) => one.split(';')[0]);
    const answer = await fetch(this.url + path, {
      method: 'POST',
      headers: {
        ...this.#user(),
        accept: 'application/json',
        'content-type': 'application/json',
        cookie: cookie.join('; '),
        'csrf-token': page.headers.get('csrf-token') ?? '',
      },
      body: JSON.stringify(fields),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  /** The first updates of an open page that change something of it. */
  async updates(path: string, count: number): Promise<{ id: string; html?: string }[]> {
    const stop = new AbortController();
    const headers = { ...this.#user(), accept: 'text/event-stream' };
    const answer = await fetch(this.url + path, { headers, signal: stop.signal });
    const found: { id: string; html?: string }[] = [];
    let text = '';
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      const lines = text.split('\n\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue;
        const update = JSON.parse(line.slice('data: '.length));
        if (Object.keys(update).length > 1) found.push(update);
      }
      if (found.length >= count) break;
    }
    stop.abort();
    return found;
  }

  #user = () => ({ 'x-forwarded-user': `one-of-${this.#groups}`, 'x-forwarded-groups': this.#groups });
}
