import { shortText } from '../../core/cut-text.ts';
import { may, type User } from '../settings/roles.ts';
import { type Html, html, type Shown } from './html.ts';
import type { Page } from './page.ts';

export type Frame = {
  readonly title: string;
  /** What of it is shown, for the title of a tab. */
  readonly subject?: string | undefined;
  readonly pages: readonly Page[];
  /** The address of the page that is shown, or that was asked for. */
  readonly path: string;
  readonly user: User | undefined;
  readonly content: Html;
  /** The command that shows the same. */
  readonly cli?: string | undefined;
  /** Whether the page's script is to wait for updates. */
  readonly isLive?: boolean;
  readonly canLogOut?: boolean;
  readonly csrfField?: Html | undefined;
};

/** Characters of a tab are fewer. */
const MAX_SUBJECT = 100;

/** The whole document: navigation, title, content, and the CLI's command. Everything can be read without the script. */
export const layout = (frame: Frame): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${frame.subject && `${shortText(frame.subject, MAX_SUBJECT)} · `}${frame.title} · Hookline</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/console.css">
<script src="/assets/console.js" defer></script>
</head>
<body${frame.isLive && html` data-live="true"`}>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="mark" href="/">Hookline</a>
<nav aria-label="Pages"><ul>${linksOf(frame)}</ul></nav>
${userOf(frame)}
</header>
<main id="content" tabindex="-1">
<h1>${frame.title}</h1>
${frame.content}
${frame.cli !== undefined && commandLine(frame.cli)}
</main>
</body>
</html>
`;

const linksOf = ({ pages, path, user }: Frame): Shown =>
  pages
    .filter(({ navigation, role }) => navigation !== undefined && user && may(user, role))
    .map(
      (page) => html`<li><a href="${firstOf(page.path)}"${currentOf(page, path)}>${page.navigation}</a></li>`,
    );

/** Marks the page that is shown, and also the one that leads to it: `/events` of `/events/:topic`. */
function currentOf(page: Page, path: string): Shown {
  if (page.path === path) return html` aria-current="page"`;
  return page.path !== '/' && path.startsWith(`${page.path}/`) && html` aria-current="true"`;
}

/** The fixed part of an address with parameters. */
const firstOf = (path: string): string => path.replace(/\/:.*$/, '') || '/';

const userOf = ({ user, canLogOut, csrfField }: Frame): Shown =>
  user &&
  html`<p class="user"><span>${user.name}</span> <span class="quiet">${[...user.roles].join(', ') || 'no role'}</span></p>${
    canLogOut &&
    html`<form method="post" action="/logout">${csrfField}<button class="plain">Log out</button></form>`
  }`;

/** The command of the CLI that does the same, ready to copy. */
const commandLine = (command: string): Html =>
  html`<p class="cli"><span class="quiet">On the command line:</span> <code>${command}</code> <button type="button" class="plain" data-copy="${command}" hidden>Copy</button></p>`;
