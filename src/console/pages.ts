import { overviewPage } from './overview/overview-page.ts';
import type { ConsoleDeps } from './page/console-deps.ts';
import type { Page } from './page/page.ts';

/** Every page, in the order of the navigation. How a page is written is said in `page/page.ts`. */
export const consolePages = (deps: ConsoleDeps): readonly Page[] => [overviewPage(deps)];
