import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { ControlFixture } from '../support/control-fixture.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { postSigned } from '../support/sign.ts';
import type { Brokers } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

const CANDIDATES = [
  process.env.CHROMIUM,
  ...['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Nothing but the console is asked for anything. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  ...['--disable-sync', '--no-first-run', '--disable-dev-shm-usage'],
];

export async function launchChromium(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('no Chromium found: set CHROMIUM to the path of one');
  return chromium.launch({ executablePath, args: FLAGS });
}

export type View = { readonly width: number; readonly scheme: 'light' | 'dark' };

/** A proxy's header says who reads. The console's limits are those of a user, and many pages are opened here. */
export const BY_HEADER = {
  CONSOLE_USER_HEADER: 'X-Forwarded-User',
  CONSOLE_TRUSTED_PROXIES: '127.0.0.1',
  CONSOLE_ROLES: '*=view,*=operate,*=reveal',
};

/** A script in a value; it must be shown as it is. */
export const SCRIPT = `<script>window.attacked=1</script><img src=x onerror="window.attacked=1">"'`;

/** Ingress, control, the sandbox and the console on a real Kafka, and a browser. What goes wrong in a page is in `faults`. */
export class ConsoleInBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly control: ControlFixture;
  readonly url: string;
  /** The console's process. */
  readonly running: RunningProcess;
  readonly faults: string[] = [];

  private constructor(browser: Browser, control: ControlFixture, running: RunningProcess, url: string) {
    this.#browser = browser;
    this.control = control;
    this.running = running;
    this.url = url;
  }

  static async open(stack: Brokers, env: Record<string, string> = {}): Promise<ConsoleInBrowser> {
    const browser = await launchChromium();
    const control = await ControlFixture.make(stack, { RECONCILE_INTERVAL_MS: '1000' });
    const targets = await Promise.all([control.ingress.process.adminUrl(), control.control.adminUrl()]);
    const running = control.fixture.start('src/console/main.ts', {
      CONSOLE_PORT: '0',
      CONSOLE_TARGETS: targets.join(','),
      ...env,
    });
    const { port } = await running.logged('console listening');
    return new ConsoleInBrowser(browser, control, running, `http://127.0.0.1:${port}`);
  }

  /** A page of a browser of its own; every error, refusal of the policy and dialog in it is a fault. */
  async page({ width, scheme }: View, options: { script?: boolean; user?: string } = {}): Promise<Page> {
    const context: BrowserContext = await this.#browser.newContext({
      viewport: { width, height: width < 500 ? 780 : Math.round(width * 0.6) },
      colorScheme: scheme,
      javaScriptEnabled: options.script ?? true,
      baseURL: this.url,
      reducedMotion: 'reduce',
      ...(options.user && { extraHTTPHeaders: { 'x-forwarded-user': options.user } }),
    });
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error' && /Content Security Policy|Refused/.test(message.text()))
        this.faults.push(`policy: ${message.text()}`);
    });
    return page;
  }

  /** A subscription and a few events of it, one of which has a text of the test's in every field. */
  async seed(text = SCRIPT): Promise<{ eventId: string; commandId: string }> {
    const { commandId } = await this.control.run({
      type: 'subscription.create',
      ref: 'ledger-eu',
      events: ['payment_status'],
      issuedBy: text,
    });
    await this.control.trigger({ ref: 'ledger-eu', sealed: true, count: 3 });
    const [provider] = await this.control.subscriptions();
    if (!provider) throw new Error('no subscription at the provider');
    const keys = { subscriptionId: provider.id, signingSecret: provider.signingSecret };
    const message = {
      type: 'payment-status',
      entityId: text,
      payload: { status: text, [text]: text },
    };
    const url = `${this.control.ingress.url}/webhooks/ledger-eu`;
    const stored = await postSigned(url, keys, JSON.stringify(message));
    await postSigned(url, keys, `{"broken": "${text.replaceAll('"', '')}`);
    await this.control.send('ledger-eu', {
      commandId: crypto.randomUUID(),
      type: text,
      ref: 'ledger-eu',
      issuedBy: text,
    });
    await until('the hostile command has its result', async () =>
      (await this.control.fixture.read('command-results', 0)).some(({ record }) => record?.type === text),
    );
    return { eventId: JSON.parse(stored.text).eventId, commandId };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.control[Symbol.asyncDispose]();
  }
}

/** Opens a page, with all that is folded in it. @throws where it is not answered 200 */
export async function show(page: Page, path: string): Promise<void> {
  const answer = await page.goto(path, { waitUntil: 'load' });
  if (answer?.status() !== 200)
    throw new Error(`${path} answered ${answer?.status()}: ${await page.locator('main').innerText()}`);
  for (const details of await page.locator('details').all())
    await details.evaluate((one) => one.setAttribute('open', ''));
}
