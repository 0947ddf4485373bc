import { Fault } from '../config/env.ts';
import { setting } from '../config/env-settings.ts';
import { DEFAULT_LAYOUT, LAYOUT_HELP, parseLayout } from './layout.ts';

/** How sealed bodies are opened: wherever deliveries are stored, when they come and when they are redriven. */
export const layoutSetting = setting(
  'ENCRYPTION_LAYOUT',
  { about: `layout of a sealed body: ${LAYOUT_HELP}`, fallback: DEFAULT_LAYOUT },
  (value) => {
    const layout = parseLayout(value);
    if (!layout) throw new Fault(`is ${JSON.stringify(value)}: ${LAYOUT_HELP}.`);
    return layout;
  },
);
